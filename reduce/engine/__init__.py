"""Engine of `cpmon reduce`: plans units of work, computes them, publishes their results."""
