"""`cpmon reduce`: which units of work are missing, what computes one, and what follows of all."""
