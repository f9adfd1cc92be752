"""Dumps written from dumps: slices and merged dumps as MONWRITE files."""
