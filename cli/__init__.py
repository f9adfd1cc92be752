"""The `cpmon` command: thin click commands over the library."""
