"""The files of a store in object storage: S3 and compatible servers, Google Cloud, Azure.

Objects are written atomically, so nothing is renamed. An object that must be created only once is
put conditionally (`If-None-Match: *`); the server decides. If its answer is lost, the retried
request is refused, and the content of the object tells who created it.
"""

from __future__ import annotations

import functools
import io
import os
import re
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from ...core.errors import StoreError
from .files import File, Inside

if TYPE_CHECKING:
    from obstore.store import ObjectStore

UPLOADS = 4
"""Concurrency limit of uploads and deletions."""
PARTS = 4
"""Concurrency limit of the parts, of 5 MB, of one upload."""
DELETED = 1_000
"""Maximum number of objects that one request deletes."""
_ENDPOINTS = (
    *("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL", "AWS_ENDPOINT"),
    *("GOOGLE_BASE_URL", "AZURE_STORAGE_ENDPOINT", "AZURE_ENDPOINT"),
)
"""Environment variables that name another server than the provider's."""
_CODE = re.compile(r"<Code>(\w+)</Code>")
_INSTANCE = "//169.254.169.254/"
"""Metadata service of cloud machines, queried for credentials if the environment has none."""
TIMEOUTS = {"connect_timeout": timedelta(seconds=5), "timeout": timedelta(seconds=60)}
"""Time limits for connecting and for a request with its answer, so that no command hangs."""
RETRY_S = "CPMON_RETRY_SECONDS"
"""Environment variable: seconds during which a request is retried after an error of the network or
the server, with increasing delays."""
RETRY_FOR_S = 60
_BUSY = ("SlowDown", "ServiceUnavailable", "ServerBusy", "InternalError", "RequestTimeout")
"""Error codes of overloaded servers."""
_MISSING = ("NoSuchKey", "BlobNotFound")
"""Error codes for a missing object."""


class ObjectFiles:
    """`Files` in object storage: the objects below a prefix."""

    is_local = False

    def __init__(self, location: str) -> None:
        """Opens the location; sends no request.

        Args:
            location: SCHEME://BUCKET/PREFIX; credentials come from the environment.

        Raises:
            StoreError: the package obstore is missing, or the location has no bucket.
        """
        self._store = _opened(location)
        self.location = location.rstrip("/")

    def read(self, name: str) -> bytes:
        """The content of an object."""
        with self._translated_errors(name, may_be_missing=True):
            return bytes(_obstore().get(self._store, name).bytes())

    def exists(self, name: str) -> bool:
        """Whether an object exists."""
        return self.changed(name) > 0

    def inside(self, folder: str = "") -> Inside:
        """The direct content of a folder: one request for each thousand entries."""
        with self._translated_errors(folder):
            listed = _obstore().list_with_delimiter(self._store, folder or None)
        files = [File(entry["path"], entry["size"]) for entry in listed["objects"]]
        files.sort(key=lambda file: file.name)
        return Inside(sorted(listed["common_prefixes"]), files)

    def below(self, folder: str = "") -> Iterator[File]:
        """Yields all files below a folder: one request for each thousand."""
        with self._translated_errors(folder):
            for page in _obstore().list(self._store, folder or None):
                yield from (File(entry["path"], entry["size"]) for entry in page)

    def names(self, folder: str = "") -> Iterator[str]:
        """The names of all files below a folder."""
        return (file.name for file in self.below(folder))

    def changed(self, name: str) -> float:
        """When an object was written, in seconds since 1970; 0 if there is none."""
        try:
            with self._translated_errors(name, may_be_missing=True):
                head = _obstore().head(self._store, name)
        except FileNotFoundError:
            return 0
        return float(head["last_modified"].timestamp())

    def size(self, name: str) -> int:
        """Size of an object in bytes.

        Raises:
            FileNotFoundError: there is none.
        """
        with self._translated_errors(name, may_be_missing=True):
            return int(_obstore().head(self._store, name)["size"])

    def part(self, name: str, start: int, length: int) -> bytes:
        """`length` bytes of an object from `start`.

        Raises:
            FileNotFoundError: there is none.
        """
        with self._translated_errors(name, may_be_missing=True):
            return bytes(_obstore().get_range(self._store, name, start=start, length=length))

    def create(self, name: str, data: bytes) -> bool:
        """Creates an object unless it exists; returns whether this call created it.

        The content of the object decides, not the answer of the server.

        Raises:
            StoreError: the request failed. If its answer was lost and the object cannot be read, it
                may have been created nevertheless.
        """
        exceptions, is_there = _obstore().exceptions, False
        try:
            with self._translated_errors(name):
                try:
                    _obstore().put(self._store, name, data, mode="create", use_multipart=False)
                except (exceptions.AlreadyExistsError, exceptions.PreconditionError):
                    is_there = True
            return not is_there or self.read(name) == data
        except FileNotFoundError:  # deleted meanwhile
            return False
        except StoreError:
            with suppress(FileNotFoundError, StoreError):
                if self.read(name) == data:
                    return True
            raise

    def replace(self, name: str, data: bytes) -> None:
        """Creates or replaces an object."""
        with self._translated_errors(name):
            _obstore().put(self._store, name, data)

    def publish(self, finished: Mapping[str, Path]) -> None:
        """Uploads finished files concurrently."""

        def send(item: tuple[str, Path]) -> None:
            name, file = item
            with self._translated_errors(name):
                _obstore().put(self._store, name, file, max_concurrency=PARTS)

        _each(send, finished.items())

    def delete(self, names: Iterable[str]) -> None:
        """Deletes objects; missing ones are ignored."""
        listed = list(names)
        for begin in range(0, len(listed), DELETED):
            self._delete(listed[begin : begin + DELETED])

    def _delete(self, names: list[str]) -> None:
        try:
            with self._translated_errors(names[0], may_be_missing=True):
                _obstore().delete(self._store, names)
        except FileNotFoundError:  # some servers refuse to delete a missing object
            if len(names) > 1:
                _each(self._delete, ([name] for name in names))

    def delete_folders(self, folders: Iterable[str]) -> None:
        """Deletes the objects of folders."""
        for folder in folders:
            self.delete([*self.names(folder)])

    def opened(self, name: str) -> ObjectReader:
        """An object for pyarrow, whose parts are requested on read."""
        return ObjectReader(functools.partial(self.part, name), self.size(name))

    def uri(self, name: str) -> str:
        """SCHEME://BUCKET/PREFIX/NAME."""
        return f"{self.location}/{name}"

    def engine_path(self, name: str) -> str:
        """The URL, quoted so that DuckDB finds no pattern and no `key=value` in the location."""
        return f"{quote(self.location, safe=':/@')}/{name}"

    @contextmanager
    def scratch(self) -> Iterator[Path]:
        """A local temporary folder."""
        with tempfile.TemporaryDirectory(prefix="cpmon-") as folder:
            yield Path(folder)

    @contextmanager
    def _translated_errors(self, name: str, *, may_be_missing: bool = False) -> Iterator[None]:
        """Maps errors of server and network to StoreError.

        Args:
            may_be_missing: raise FileNotFoundError if the object itself is missing.
        """
        exceptions = _obstore().exceptions
        try:
            yield
        except FileNotFoundError as error:
            code = _CODE.search(str(error))
            if may_be_missing and (code is None or code[1] in _MISSING):
                raise FileNotFoundError(name) from None
            raise self._refused(name, error) from None
        except (exceptions.PermissionDeniedError, exceptions.UnauthenticatedError) as error:
            raise self._refused(name, error) from None
        except exceptions.BaseError as error:
            code = _CODE.search(str(error))
            if (code and code[1] not in _BUSY) or _INSTANCE in str(error):
                raise self._refused(name, error) from None
            raise StoreError(
                "the object storage cannot be reached, or reports an error",
                code="object-storage-unavailable",
                place=self.uri(name),
                found=_first_line(error),
                effect="complete files of the store are intact",
                remedy="run the command again later, with fewer processes if the server is"
                " overloaded; else check the network, and AWS_ENDPOINT_URL or its equivalent."
                f" {RETRY_S} sets for how many seconds a request is retried",
            ) from None

    def _refused(self, name: str, error: Exception) -> StoreError:
        return StoreError(
            "the object storage refuses the request",
            code="object-storage-refused",
            place=self.uri(name),
            found=_first_line(error),
            effect="complete files of the store are intact",
            remedy="check the name of the bucket, that it exists, and the credentials in the"
            " environment (AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_REGION or equivalents)",
        )


class ObjectReader(io.RawIOBase):
    """Raw stream over an object; requests a part for each read."""

    def __init__(self, part: Callable[[int, int], bytes], size: int) -> None:
        """Sends no request.

        Args:
            part: (start, length) -> bytes of the object.
            size: of the object, in bytes.
        """
        self._part, self._size, self._at = part, size, 0

    def readable(self) -> bool:
        """True."""
        return True

    def seekable(self) -> bool:
        """True."""
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        """Sets the position; returns it."""
        begin = {io.SEEK_SET: 0, io.SEEK_CUR: self._at, io.SEEK_END: self._size}[whence]
        self._at = begin + offset
        return self._at

    def tell(self) -> int:
        """The position."""
        return self._at

    def read(self, size: int | None = -1) -> bytes:
        """The next `size` bytes, or all remaining ones."""
        rest = max(self._size - self._at, 0)
        length = rest if size is None or size < 0 else min(size, rest)
        data = self._part(self._at, length) if length else b""
        self._at += len(data)
        return data


def _obstore() -> Any:
    """Imports obstore, which takes 0.05 s, for stores in object storage only."""
    try:
        import obstore
    except ImportError:
        raise StoreError(
            "stores in object storage need the package obstore",
            code="object-storage-package-missing",
            effect="nothing was read or written",
            remedy="install it: pip install 'cpmon[objects]'",
        ) from None
    return obstore


def _retried_for() -> timedelta:
    """Retry time from the environment; raises StoreError if it is not a number."""
    seconds = os.environ.get(RETRY_S) or str(RETRY_FOR_S)
    if not seconds.isdecimal():
        raise StoreError(
            f"{RETRY_S} is not a number of seconds",
            code="retry-time-invalid",
            expected="a whole number, such as 60",
            found=seconds,
            effect="nothing was read or written",
            remedy="correct it, or unset it",
        )
    return timedelta(seconds=int(seconds))


def _opened(location: str) -> ObjectStore:
    """Opens a location; raises StoreError if it or the environment is invalid."""
    scheme, _, rest = location.partition("://")
    bucket, _, prefix = rest.rstrip("/").partition("/")
    obstore = _obstore()
    from obstore.store import from_url

    endpoint = next(filter(None, map(os.environ.get, _ENDPOINTS)), "")
    settings: dict[str, Any] = {
        "client_options": {**TIMEOUTS, "allow_http": endpoint.startswith("http://")},
        "retry_config": {"max_retries": 1_000, "retry_timeout": _retried_for()},
    }
    try:
        # obstore decodes %20 as a blank; DuckDB and other readers take a URL literally.
        return from_url(f"{scheme}://{bucket}/{quote(prefix)}".rstrip("/"), **settings)
    except (obstore.exceptions.BaseError, ValueError) as error:
        raise StoreError(
            "the location of the store cannot be used",
            code="store-location-invalid",
            place=location,
            expected="s3://BUCKET/PREFIX, gs://BUCKET/PREFIX or"
            " abfss://CONTAINER@ACCOUNT.dfs.core.windows.net/PREFIX",
            found=_first_line(error),
            effect="nothing was read or written",
            remedy="name the bucket, and give its credentials and region in the environment",
        ) from None


def _each(do: Callable[[Any], None], items: Iterable[Any]) -> None:
    """Calls `do` for all items concurrently; raises the first error."""
    with ThreadPoolExecutor(max_workers=UPLOADS) as pool:
        list(pool.map(do, items))


def _first_line(error: Exception) -> str:
    """Message of a library's error, without its traceback, at most 500 characters."""
    return str(error).strip().partition("\n\nDebug source")[0][:500]
