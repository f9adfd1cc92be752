"""The keys of a scenario file as typed tables."""
