"""Stops a build whose source lost the links of `src/cpmon`, and makes the page of a package index.

pyproject.toml has everything else.

A checkout without symbolic links (core.symlinks=false, some archives) holds a text file in place
of each link. Setuptools would build a wheel of a few files from it, and report success.
"""

import re
from pathlib import Path

from setuptools import setup

ROOT = Path(__file__).resolve().parent
PACKAGE = ROOT / "src" / "cpmon"
RELATIVE = re.compile(r"(!?)\[([^\]\n]*)\]\((?!https?:|#)[^)\s]+\)")
"""A link to a file of the repository, or a picture in it: an index has neither."""
broken = sorted(
    entry.name for entry in PACKAGE.iterdir() if not entry.suffix and not entry.is_dir()
)
if broken:
    raise SystemExit(
        "cpmon cannot be built: the package lacks its folders\n"
        f"  at        {PACKAGE}\n"
        "  expected  symbolic links to the top-level folders, or the folders themselves\n"
        f"  found     files in place of {', '.join(broken)}\n"
        "  effect    nothing was built\n"
        "  remedy    git config core.symlinks true, then git checkout -- src/cpmon; or build from"
        " an sdist, which holds the folders"
    )
readme = (ROOT / "README.md").read_text(encoding="utf-8")
setup(
    long_description=RELATIVE.sub(lambda link: "" if link[1] else link[2], readme),
    long_description_content_type="text/markdown",
)
