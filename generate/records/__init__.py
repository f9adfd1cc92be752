"""The records of a sample and of the events before it, one table file for each domain."""
