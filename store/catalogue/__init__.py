"""The DuckDB catalogue of a store."""
