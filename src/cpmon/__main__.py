"""`python -m cpmon` is `cpmon`."""

from .cli import main

main()
