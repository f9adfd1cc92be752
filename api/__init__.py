"""The public interface for programs, as documented in docs/python.md."""
