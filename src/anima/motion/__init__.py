"""Motion capture: read, retarget, check, keep."""
