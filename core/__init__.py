"""Common code of all packages: errors, text, SQL as text, atomic files, the grace period."""
