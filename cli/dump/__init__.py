"""Commands that read and write dumps; `demo` leads them on to tables."""
