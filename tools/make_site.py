"""Build the documentation as a site that needs no network, by `make site`.

The pages are those of docs/ and of the top folder. They are copied to build/site/docs, where links
that lead out of them become plain text, and a page with the docstrings of the package is added;
Zensical makes build/site/html of them. A link to a page or a section that does not exist is an
error.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"
SITE = ROOT / "build" / "site"
LINK = re.compile(r"(?<!!)\[([^\]\n]+)\]\(([^)\s]+)\)|(!\[[^\]\n]*\])\(([^)\s]+)\)")
CODE = re.compile(r"(^```.*?^```$)", re.M | re.S)
RENAMED = {"README.md": "tour.md"}
"""README.md would be the first page of the site, which is index.md."""
PYTHON = """# Python reference

The public names of the package, from their docstrings.

::: cpmon

## What dumps and stores answer

::: cpmon.api.answers.Answers
    options:
      heading_level: 3

## Selection

::: cpmon.api.selection.Selection
    options:
      heading_level: 3

::: cpmon.api.selection.Departure
    options:
      heading_level: 3

::: cpmon.api.selection.SearchOptions
    options:
      heading_level: 3

::: cpmon.api.selection.Future
    options:
      heading_level: 3
"""


def make_site(folder: Path) -> Path:
    """Build the site; returns the folder of its pages, which `index.html` is the first of.

    Args:
        folder: replaced as a whole.

    Raises:
        subprocess.CalledProcessError: the site was not built, a dead link was found, or similar.
    """
    shutil.rmtree(folder, ignore_errors=True)
    stage(folder)
    build(folder)
    return folder / "html"


def stage(folder: Path) -> None:
    """Copy what the site is made of."""
    shutil.copytree(DOCS, folder / "docs", ignore=shutil.ignore_patterns("*.toml", "*.sql"))
    shutil.copy(DOCS / "site" / "zensical.toml", folder)
    (folder / "src").symlink_to(ROOT / "src")
    places = {page: page.relative_to(DOCS) for page in DOCS.rglob("*.md")}
    places |= {page: Path(RENAMED.get(page.name, page.name)) for page in ROOT.glob("*.md")}
    for page, place in places.items():
        text = relinked(page.read_text(encoding="utf-8"), page, places)
        (folder / "docs" / place).write_text(text, encoding="utf-8")
    (folder / "docs" / "python-reference.md").write_text(PYTHON, encoding="utf-8")


def build(folder: Path) -> None:
    """Make the site of what is staged; a warning is an error."""
    command = [sys.executable, "-m", "zensical", "build", "--strict"]
    subprocess.run(command, cwd=folder, check=True)


def relinked(text: str, page: Path, places: dict[Path, Path]) -> str:
    """The text of a page with links that hold in the site; those to other files become text.

    Args:
        page: where the text is from.
        places: path of each page -> its path in the site.
    """

    def link(match: re.Match[str]) -> str:
        shown, target = match[1] or match[3], match[2] or match[4]
        if "://" in target or target.startswith(("#", "mailto:")):
            return match[0]
        name, _, section = target.partition("#")
        file = Path(os.path.normpath(page.parent / name))
        place = places.get(file) or (file.is_relative_to(DOCS) and file.relative_to(DOCS))
        if not place:
            return shown if match[1] else ""
        relative = os.path.relpath(place, places[page].parent)
        shown = f"[{shown}]" if match[1] else shown
        return f"{shown}({relative}{'#' if section else ''}{section})"

    parts = CODE.split(text)
    return "".join(part if i % 2 else LINK.sub(link, part) for i, part in enumerate(parts))


def main(arguments: Sequence[str]) -> int:
    """Build the site in build/site, or in the folder that is named."""
    pages = make_site(Path(*arguments[:1]) if arguments else SITE)
    print(f"site: {pages / 'index.html'}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
