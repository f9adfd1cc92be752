"""Commands that fill a store and look after it."""
