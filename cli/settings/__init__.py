"""Commands about settings: those of a site, layouts, and completion in a shell."""
