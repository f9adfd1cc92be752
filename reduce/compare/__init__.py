"""Comparison tables, and runs compared with each other."""
