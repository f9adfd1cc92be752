"""Commands about settings, layouts and unattended work of a site."""
