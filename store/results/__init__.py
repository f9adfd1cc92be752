"""Materialized results of reductions: computed, versioned, retained."""
