"""Damage to a dump as it passes by."""
