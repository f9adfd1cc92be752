"""How rows can be printed or written: the values of `--format` and of `[formats]`."""

FORMATS = ("table", "text", "csv", "json", "jsonl", "markdown", "parquet")
"""`text` is what a command prints best as: a table, where it has nothing better."""
