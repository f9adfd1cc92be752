"""Commands for settings, layouts and unattended batches of a site."""
