"""SQL reductions over the store, comparison tables and their rendering."""
