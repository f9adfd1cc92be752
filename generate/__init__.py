"""A model of the hardware and CP that writes records, dumps and companion files."""
