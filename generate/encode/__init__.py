"""Records to bytes: field positions, counters, frames and containers."""
