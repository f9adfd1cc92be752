"""IBM's record pages: read as they are met, and merged into the layouts that are known."""

from .merge import merge
from .merged import Merged
from .page import Page, parse_page

__all__ = ["Merged", "Page", "merge", "parse_page"]
