"""Worlds an agent can live in: bodies, senses, starts, tasks and goals."""
