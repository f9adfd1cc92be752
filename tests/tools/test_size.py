"""What counts as a line of code, and of which folders."""

from __future__ import annotations

from pathlib import Path

from tools.size import code_lines, size_by_folder

SOURCE = '''"""A module.

Of two paragraphs.
"""

from __future__ import annotations

from pathlib import (
    Path,
)

# A comment.
QUERY = """
SELECT 1  -- a comment of SQL

"""


class Reader:
    """A class."""

    async def read(self, path: Path) -> bytes:
        """A method."""
        import mmap

        """not a docstring"""
        return mmap.mmap(  # with a comment
            path,
        )
'''


def test_code_is_what_is_not_blank_comment_docstring_or_import():
    assert code_lines(SOURCE) == 3 + 1 + 1 + 1 + 3


def test_an_empty_module_has_no_code():
    assert code_lines("") == code_lines('"""Only a docstring."""') == 0


def test_folders_are_counted_with_their_packages(tmp_path: Path):
    for name in ("__init__.py", "store/__init__.py", "store/files/disk.py", "store/a.sql"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("a = 1\nb = 2\n", encoding="utf-8")
    assert size_by_folder(tmp_path) == {".": 2, "store": 4}


def test_the_product_has_every_folder():
    assert {"store", "reduce", "notebooks", "cli", "."} <= size_by_folder().keys()
