"""The planar walker of dm_control: body, senses, starts, tasks and goals."""
