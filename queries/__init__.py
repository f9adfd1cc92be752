"""Documented SQL questions for analysts, run by name with `cpmon query`."""
