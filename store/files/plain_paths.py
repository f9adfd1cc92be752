"""Plain names for local paths, for engines that read more into a path than where a file is.

DuckDB takes `*`, `?` and `[` of a path for a pattern, a backslash in a pattern for a slash, and
`key=value` anywhere in it for a column. Escapes do not help: `[[]` is refused by
`allowed_directories`, and nothing stands for a backslash. Spark has more such characters. So an
engine gets the path through a symbolic link whose own path has none of them.
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
"""Folder of the links, in the user's cache: what refers to them by name is kept as well."""
_is_plain = re.compile(r"[\w.@~+ -]*", re.ASCII).fullmatch


def plain_path(path: Path | str) -> str:
    """The absolute path of a local file or folder in characters that mean nothing to any engine.

    It begins with a link to the last folder whose name has others; most paths stay as they are.

    Raises:
        StoreError: there is no place for the link.
    """
    whole = str(Path(path).absolute())
    names = whole.split("/")
    if all(map(_is_plain, names)):
        return whole
    behind = 1 + max(n for n, name in enumerate(names) if name == ".." or not _is_plain(name))
    return "/".join([_link("/".join(names[:behind])), *names[behind:]])


def path_text(path: Path) -> str:
    """A string literal that DuckDB takes for the path of this one file or folder."""
    return text(plain_path(path))


def _link(target: str) -> str:
    """The path of a link to a path; it is made where there is none."""
    name = hashlib.blake2b(os.fsencode(target), digest_size=16).hexdigest()
    for folder in _folders():
        link = folder / name
        with suppress(OSError):
            if not _leads_to(link, target):
                _make(link, target)
            return str(link)
    raise StoreError(
        "there is no place for a link to a path with unusual characters",
        code="cache-folder-missing",
        place=target,
        expected="a cache or temporary folder of this user whose path has letters, digits, blanks "
        "and . - _ @ ~ + only",
        effect="nothing was read or made",
        remedy="set XDG_CACHE_HOME to such a folder, or give the store another path",
    )


def _folders() -> Iterator[Path]:
    """Folders of this user alone with plain paths: that of the cache, else one of this process."""
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
    """A folder that is gone when this process ends."""
    folder = tempfile.mkdtemp(prefix="cpmon-places-", dir=place)
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return Path(folder)


def _leads_to(link: Path, target: str) -> bool:
    try:
        return os.fspath(link.readlink()) == target
    except OSError:
        return False


def _make(link: Path, target: str) -> None:
    """Make a link or put it in the place of another one, at once for whoever uses it."""
    part = link.with_name(f"{link.name}.{os.urandom(6).hex()}")
    part.symlink_to(target)
    part.replace(link)
