"""HTML pages with charts, tiles and report tables."""
