"""Landlock: Linux keeps a thread, and the threads it starts, from changing any file.

It cannot be taken back, and holds whatever the thread runs. Kernels from 5.13 on may have it;
elsewhere `restrict` does nothing and says so.
"""

from __future__ import annotations

import ctypes
import os
import struct
import sys
from collections.abc import Iterable
from pathlib import Path

_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
"""Numbers of system calls, the same on all architectures but alpha."""
_VERSION = 1
_PATH_BENEATH = 1
_NO_NEW_PRIVILEGES = 38

_EXECUTE, _WRITE = 1 << 0, 1 << 1
_REMOVE_FOLDER, _REMOVE_FILE = 1 << 4, 1 << 5
_MAKE = sum(1 << bit for bit in range(6, 13))
_MAKE_FOLDER, _MAKE_FILE = 1 << 7, 1 << 8
_REFER, _TRUNCATE, _DEVICE_CONTROL = 1 << 13, 1 << 14, 1 << 15
_CHANGING = _EXECUTE | _WRITE | _REMOVE_FOLDER | _REMOVE_FILE | _MAKE
_SINCE = {2: _REFER, 3: _TRUNCATE, 5: _DEVICE_CONTROL}
"""Version of Landlock -> what it handles besides."""
_SCRATCH = _WRITE | _REMOVE_FOLDER | _REMOVE_FILE | _MAKE_FOLDER | _MAKE_FILE | _TRUNCATE
_NETWORK_SINCE, _NETWORK = 4, 0b11
"""Binding and connecting TCP sockets."""


def version() -> int:
    """Version of the kernel's Landlock; 0 where there is none."""
    if sys.platform != "linux":
        return 0
    return max(0, _call(_CREATE_RULESET, None, 0, _VERSION))


def restrict(writable: Iterable[Path] = ()) -> bool:
    """Keep this thread from writing, making, removing, executing files, and from TCP, for good.

    Args:
        writable: folders in which it may still make, write and remove files.

    Returns:
        Whether it holds; False where the kernel has no Landlock.

    Raises:
        OSError: a folder cannot be opened, or the kernel refuses.
    """
    abi = version()
    if not abi:
        return False
    handled = _CHANGING | sum(bit for since, bit in _SINCE.items() if abi >= since)
    attributes = struct.pack("=Q", handled)
    if abi >= _NETWORK_SINCE:
        attributes += struct.pack("=Q", _NETWORK)
    rules = _checked(_call(_CREATE_RULESET, attributes, len(attributes), 0))
    try:
        for folder in writable:
            _allow(rules, folder, _SCRATCH & handled)
        _checked(_libc().prctl(_NO_NEW_PRIVILEGES, 1, 0, 0, 0))
        _checked(_call(_RESTRICT_SELF, rules, 0))
    finally:
        os.close(rules)
    return True


def _allow(rules: int, folder: Path, access: int) -> None:
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        beneath = struct.pack("=Qi", access, handle)
        _checked(_call(_ADD_RULE, rules, _PATH_BENEATH, beneath, 0))
    finally:
        os.close(handle)


def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


def _call(number: int, *arguments: int | bytes | None) -> int:
    """The result of a system call."""
    passed = [ctypes.c_long(a) if isinstance(a, int) else a for a in arguments]
    return int(_libc().syscall(ctypes.c_long(number), *passed))


def _checked(result: int) -> int:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number), "Landlock")
    return result
