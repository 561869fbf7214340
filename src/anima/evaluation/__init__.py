"""How good a player is: rewards, goals and motions to track, metrics, reports."""
