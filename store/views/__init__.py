"""The views over landed tables, and where their rows come from."""
