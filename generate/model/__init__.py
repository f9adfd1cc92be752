"""The system during a run: totals and levels, one number for each interval or sample."""
