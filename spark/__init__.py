"""A store in Spark: its relations as temporary views, in the words of Spark SQL."""

from .fleet import Fleet, register

__all__ = ["Fleet", "register"]
