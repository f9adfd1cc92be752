"""DuckDB over a store: scopes, relations with deltas of counters, connections, answers."""
