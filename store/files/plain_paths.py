"""Local paths without special characters, for engines that interpret some characters of a path.

DuckDB reads `*`, `?` and `[` in a path as a pattern, a backslash in a pattern as a slash, and
`key=value` anywhere in it as a partition column. Escaping does not work: `allowed_directories`
refuses `[[]`, and a backslash has no escape. Spark has more such characters. So engines get a path
through a symbolic link whose own path has none of these characters.
"""

from __future__ import annotations

import atexit
import functools
import hashlib
import os
import re
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from ...core.derived import cache_folder
from ...core.errors import StoreError
from ...core.sql import text

FOLDER = "places"
"""Folder of the links, in the user's cache, since catalogue files refer to them by name."""
_is_plain = re.compile(r"[\w.@~+ -]*", re.ASCII).fullmatch


def plain_path(path: Path | str) -> str:
    """The absolute path of a local file or folder, in characters that no engine interprets.

    Most paths are returned unchanged; otherwise the path begins with a link that replaces it up to
    its last name with other characters.

    Raises:
        StoreError: no folder can hold the link.
    """
    whole = str(Path(path).absolute())
    names = whole.split("/")
    if all(map(_is_plain, names)):
        return whole
    linked = 1 + max(n for n, name in enumerate(names) if name == ".." or not _is_plain(name))
    return "/".join([_link("/".join(names[:linked])), *names[linked:]])


def path_text(path: Path) -> str:
    """SQL string literal of the plain path of one file or folder."""
    return text(plain_path(path))


def _link(target: str) -> str:
    """Path of a link to `target`, created if missing."""
    name = hashlib.blake2b(os.fsencode(target), digest_size=16).hexdigest()
    for folder in _folders():
        link = folder / name
        with suppress(OSError):
            if not _leads_to(link, target):
                _make(link, target)
            return str(link)
    raise StoreError(
        "no folder can hold a link to a path with special characters",
        code="cache-folder-missing",
        place=target,
        expected="a cache or temporary folder of this user whose path has only letters, digits, "
        "blanks and . - _ @ ~ +",
        effect="nothing was read or written",
        remedy="set XDG_CACHE_HOME to such a folder, or give the store another path",
    )


def _folders() -> Iterator[Path]:
    """Yields folders with plain paths that only this user can write: the cache, then temporary."""
    cache = cache_folder()
    if cache is not None and all(map(_is_plain, cache.parts[1:])):
        with suppress(OSError):
            folder = cache / FOLDER
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            about = folder.lstat()
            if about.st_uid == os.geteuid() and not about.st_mode & 0o022:
                yield folder
    for place in dict.fromkeys((tempfile.gettempdir(), "/tmp", "/var/tmp")):
        if all(map(_is_plain, place.split("/"))):
            with suppress(OSError):
                yield _own_folder(os.getpid(), place)


@functools.cache
def _own_folder(_process: int, place: str) -> Path:
    """A temporary folder, deleted when this process exits."""
    folder = tempfile.mkdtemp(prefix="cpmon-places-", dir=place)
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return Path(folder)


def _leads_to(link: Path, target: str) -> bool:
    try:
        return os.fspath(link.readlink()) == target
    except OSError:
        return False


def _make(link: Path, target: str) -> None:
    """Creates or replaces a link atomically."""
    part = link.with_name(f"{link.name}.{os.urandom(6).hex()}")
    part.symlink_to(target)
    part.replace(link)
