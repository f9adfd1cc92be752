"""The table format: parts of Parquet files, and the states of months that name them."""
