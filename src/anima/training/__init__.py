"""Collect, update, evaluate, save: from a recipe to a trained agent, resumable at any time."""
