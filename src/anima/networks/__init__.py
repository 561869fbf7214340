"""Function approximators; no losses."""
