"""The contents of a scenario file as typed tables, and their reader."""
