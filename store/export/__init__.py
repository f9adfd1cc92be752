"""A store as tables of other formats, over the same files."""
