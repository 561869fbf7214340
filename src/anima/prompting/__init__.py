"""Prompts: a reward, a goal, a motion or a blend of these becomes what steers an agent."""
