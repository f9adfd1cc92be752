"""Commands that print what a store holds."""
