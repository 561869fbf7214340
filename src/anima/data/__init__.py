"""What agents learn from; numpy becomes torch here."""
