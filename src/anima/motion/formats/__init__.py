"""Readers of motion-capture files; each gives Recordings, or Clips where the file is already on our body."""
