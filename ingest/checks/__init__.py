"""Checks of a dump: time stamps, counters, and consistency of its values."""
