"""Decoding: the records of a window to tables of rows, by their layouts."""
