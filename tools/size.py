"""Code lines of the product by folder: `python -m tools.size`, printed by `make check`.

A code line has code on it: blank lines, comments, docstrings and imports do not count, nor do SQL,
TOML, CSV and the scripts of pages. The product is what `src/cpmon` is made of, its linked folders
with the notebooks and the package's own face, not `tools`, `tests` and `bench`.
"""

from __future__ import annotations

import ast
from collections import Counter
from pathlib import Path

PACKAGE = Path(__file__).resolve().parent.parent / "src" / "cpmon"
DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


def code_lines(source: str) -> int:
    """Number of lines of `source` that are code."""
    tree = ast.parse(source)
    passive: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, DOCUMENTED) and ast.get_docstring(node, clean=False) is not None:
            passive.update(_lines(node.body[0]))
        elif isinstance(node, ast.Import | ast.ImportFrom):
            passive.update(_lines(node))
    return sum(
        bool(text := line.strip()) and not text.startswith("#") and number not in passive
        for number, line in enumerate(source.splitlines(), start=1)
    )


def _lines(node: ast.stmt) -> range:
    return range(node.lineno, (node.end_lineno or node.lineno) + 1)


def size_by_folder(package: Path = PACKAGE) -> Counter[str]:
    """Code lines of each folder of a package; `.` is the package's own modules."""
    sizes: Counter[str] = Counter()
    for folder in [package, *(entry for entry in package.iterdir() if entry.is_dir())]:
        paths = folder.glob("*.py") if folder == package else folder.rglob("*.py")
        name = "." if folder == package else folder.name
        sizes[name] += sum(code_lines(path.read_text(encoding="utf-8")) for path in paths)
    return +sizes


def main() -> None:
    """Print the folders, the largest first, and their sum."""
    sizes = size_by_folder()
    folders = ", ".join(f"{name} {size:,}" for name, size in sizes.most_common())
    print(f"size: {sizes.total():,} code lines ({folders})")


if __name__ == "__main__":
    main()
