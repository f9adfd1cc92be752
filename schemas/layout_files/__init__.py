"""Layout files: read as rows, checked, and made into layouts."""
