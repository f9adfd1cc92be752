"""Materialized results of reductions: their files, versions and retention."""
