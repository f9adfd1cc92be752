"""A store in Spark: its relations as temporary views in Spark SQL."""

from .fleet import Fleet, register

__all__ = ["Fleet", "register"]
