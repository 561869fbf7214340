"""The SMPL humanoid: body, senses, starts, tasks and goals."""
