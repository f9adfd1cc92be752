"""Commands that fill and maintain a store, by hand or unattended."""
