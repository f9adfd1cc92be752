"""Runs: what was measured, with their companion figures and user classes."""
