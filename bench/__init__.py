"""The bars that hold for every change, measured: `make bench`, or `python -m bench --help`."""
