"""Finds the settings file, and applies variables of the environment.

The first existing file is used as a whole: the named one (`--config`, CPMON_CONFIG), `cpmon.toml`
in the working directory, that of the store, that of the user. Variables of the environment override
it.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import msgspec

from .definitions import FOLDER, Definitions, read_definitions
from .document import Document, read_values
from .settings import FILE, VARIABLE, VARIABLES, Settings, SiteSettings, flat, settings_from
from .values import scheme_of

MARKER = "store.json"
"""File that marks a folder as a store."""


def exposure(store: Path, *files: Path) -> str:
    """Reason why others than this user and root can write to a store or its files; else empty."""
    for path in (store, *files):
        try:
            status = path.stat()
        except OSError:
            continue
        if status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
            return f"{path} can be written by others (mode {stat.S_IMODE(status.st_mode):04o})"
        if status.st_uid not in (0, os.geteuid()):
            return f"{path} belongs to another user (number {status.st_uid})"
    return ""


def distrust(file: Path, trusted: Sequence[Path], *, named: bool) -> str:
    """Reason why commands or definitions in a file are not trusted; empty if they are.

    Args:
        trusted: stores that the user's own file names. named: the user named this file.
    """
    store = next((each for each in file.resolve().parents if (each / MARKER).exists()), None)
    if store is None:
        return ""
    if not named and store not in (path.resolve() for path in trusted):
        return f"{file} lies in a store that is not trusted"
    return exposure(store, file, *(file.iterdir() if file.is_dir() else ()))


def settings_files(store: Path | None) -> list[Path]:
    """Default settings files; the first existing one is used."""
    return [Path(FILE), *([store / FILE] if store else []), _users_file()]


def _users_file() -> Path:
    home = os.environ.get("XDG_CONFIG_HOME") or "~/.config"
    return Path(home).expanduser() / "cpmon" / "config.toml"


def find_file(store: Path | None, file: Path | None = None) -> Path | None:
    """The settings file: the named one, or the first existing one of `settings_files`."""
    named = file or (Path(os.environ[VARIABLE]) if os.environ.get(VARIABLE) else None)
    return named or next(filter(_is_file, settings_files(store)), None)


def ignored_files(store: Path | None, counted: Path | None) -> list[Path]:
    """Existing settings files that are not read, since another one precedes them."""
    return [file for file in settings_files(store) if file.is_file() and file != counted]


def read_settings(store: Path | None = None, file: Path | None = None) -> Settings:
    """The settings for a store.

    Args:
        store: the store, if known; its own file is one of `settings_files`.
        file: the named file, if any.

    Raises:
        CpmonError: the named file does not exist, or it or a variable has a mistake; the error has
            file, key, line, found and allowed values.
    """
    settings, named = _read_settings(store, file), file is not None or VARIABLE in os.environ
    own = _own_definitions(settings, store)
    if own:
        reason = distrust(own, _trusted(), named=named and own.parent != store)
        read = Definitions() if reason else read_definitions(own)
        settings = replace(settings, definitions=read, left_out=reason)
    if settings.file is None or not (settings.batch.hook_dump or settings.batch.hook_end):
        return settings
    return replace(settings, distrust=distrust(settings.file, _trusted(), named=named))


def _own_definitions(settings: Settings, store: Path | None) -> Path | None:
    """The folder with the definitions of the site: beside the settings, or in the store."""
    above = [*([settings.file.parent] if settings.file else []), store or settings.store]
    folders = (path / FOLDER for path in above if path and not scheme_of(str(path)))
    return next((folder for folder in folders if _exists(folder, Path.is_dir)), None)


def _trusted() -> Sequence[Path]:
    """The stores that the user's own file names."""
    users = _users_file()
    return parse_settings(users).trusted_stores if _is_file(users) else ()


def _read_settings(store: Path | None, file: Path | None) -> Settings:
    settings = parse_settings(find_file(store, file))
    if store is None and settings.store and settings.file not in (None, file, Path(FILE)):
        own = parse_settings(find_file(settings.store, file))
        if own.file != settings.file and own.store is None:  # the user's file only names the store
            origins = {**own.origins, "store": settings.origins["store"]}
            return replace(own, store=settings.store, origins=origins)
    return settings


def parse_settings(file: Path | None) -> Settings:
    """The settings of a file, or defaults, with variables of the environment applied.

    Raises:
        CpmonError: as `read_settings`.
    """
    site, document, origins = SiteSettings(), None, {}
    if file is not None:
        document = Document.load(file, "the settings")
        site = document.read(SiteSettings, file.parent)
        origins = {key: document.place(key) for key in flat(document.values) if key}
    texts = {key: os.environ.get(variable) for key, variable in VARIABLES.items()}
    values = {key: text for key, text in texts.items() if text}
    # Paths in variables are relative to the working directory.
    own = read_values(SiteSettings, values, VARIABLES.__getitem__, strict=False)
    site = msgspec.structs.replace(site, **{key: getattr(own, key) for key in values})
    return settings_from(site, document, origins | {key: VARIABLES[key] for key in values})


def _is_file(path: Path) -> bool:
    return _exists(path, Path.is_file)


def _exists(path: Path, check: Callable[[Path], bool]) -> bool:
    """Whether settings are there; where this user may not look there are none for it."""
    try:
        return check(path)
    except PermissionError:
        return False
