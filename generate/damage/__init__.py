"""Damages a dump stream."""
