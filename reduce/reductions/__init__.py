"""Reductions: documented SQL over landed records."""
