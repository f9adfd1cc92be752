"""A web server over a store: its pages and answers of SQL, read-only, made when asked for."""
