"""cpmon: z/VM CP Monitor data, from the dump to the published performance table."""

__version__ = "0.1.0"
