"""Rules of exceptions, and where they are met."""
