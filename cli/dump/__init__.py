"""Commands that read and write dumps, without a store."""
