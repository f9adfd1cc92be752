"""Common code of all packages: errors, text, SQL as text, atomic files, the grace period."""

try:
    import fcntl  # noqa: F401
except ImportError:
    raise ImportError(
        "cpmon runs on Linux and macOS only: it locks files by flock, which this system lacks\n"
        "  effect    nothing was done\n"
        "  remedy    on Windows run it in the Windows Subsystem for Linux (WSL 2)",
        name="fcntl",
    ) from None

__version__ = "0.1.0"
