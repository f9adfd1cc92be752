"""Scripts for people who work on cpmon: checks of the sources, and makers of generated files."""
