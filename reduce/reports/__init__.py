"""Reports: reductions laid out for a reader, by interval or rolled up."""
