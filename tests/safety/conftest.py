"""Command lines run in this process, as the tests of the commands run them."""

from __future__ import annotations

from tests.cli.conftest import cpmon

__all__ = ["cpmon"]
