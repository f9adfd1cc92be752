"""Commands that print the contents of a store."""
