"""Inspection of a dump without a store: inventory, record filter, explanation, hexdump."""
