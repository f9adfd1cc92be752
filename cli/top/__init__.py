"""A screen of what comes."""
