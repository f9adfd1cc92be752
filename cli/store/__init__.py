"""Commands that fill and maintain a store."""
