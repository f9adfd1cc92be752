"""Stops a build whose source lost the links of `src/cpmon`; pyproject.toml has everything else.

A checkout without symbolic links (core.symlinks=false, some archives) holds a text file in place
of each link. Setuptools would build a wheel of a few files from it, and report success.
"""

from pathlib import Path

from setuptools import setup

PACKAGE = Path(__file__).resolve().parent / "src" / "cpmon"
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
setup()
