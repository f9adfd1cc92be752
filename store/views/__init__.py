"""The views over landed tables, and the databases that run them."""
