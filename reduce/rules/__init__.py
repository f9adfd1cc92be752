"""Rules: what should not be on a measured system, and what must hold of all that landed."""
