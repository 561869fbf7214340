"""Many worlds at once: physics, environments, rendering. Knows no body and no reward."""
