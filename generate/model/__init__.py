"""The system during a run: totals of each interval, levels at each sample."""
