"""Documented SQL queries for analysts, run by name with `cpmon query`."""

from .queries import Param, Query, queries, query, query_names

__all__ = ["Param", "Query", "queries", "query", "query_names"]
