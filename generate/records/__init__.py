"""The records of a sample and of the events before it, one module for each domain."""
