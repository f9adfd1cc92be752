"""The folder of landed dumps and the DuckDB catalogue over it."""
