"""What every room uses: errors, text, SQL as text, files that appear whole, times."""
