"""IBM's record pages: parsed, and merged into the layouts of a site."""

from .merge import merge
from .merge_result import MergeResult
from .page import Page, parse_page

__all__ = ["MergeResult", "Page", "merge", "parse_page"]
