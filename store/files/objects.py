"""The files of a store in object storage: S3 and what speaks like it, Google's, Azure's.

An object is there as a whole or not at all, so nothing is renamed. One that must be made only once
is put on the condition that there is none (`If-None-Match: *`), which the server decides. If its
answer is lost on the way, the request is sent again and then refused: what is there settles it.
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
"""Files that are sent at once."""
PARTS = 4
"""Parts of a file, of 5 MB, that are sent at once."""
DELETED = 1_000
"""Objects that one request removes, at most."""
_ENDPOINTS = (
    *("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL", "AWS_ENDPOINT"),
    *("GOOGLE_BASE_URL", "AZURE_STORAGE_ENDPOINT", "AZURE_ENDPOINT"),
)
"""Variables that name another server than the provider's."""
_CODE = re.compile(r"<Code>(\w+)</Code>")
_INSTANCE = "//169.254.169.254/"
"""Machines of a provider are asked there for credentials, where the environment has none."""
TIMEOUTS = {"connect_timeout": timedelta(seconds=5), "timeout": timedelta(seconds=60)}
"""How long a server may take, so that no command hangs: for a connection, for a request with its
answer."""
RETRY_S = "CPMON_RETRY_SECONDS"
"""Variable that says for how many seconds a request is sent again after an error on the way or of
the server, at longer and longer intervals."""
RETRY_FOR_S = 60
_BUSY = ("SlowDown", "ServiceUnavailable", "ServerBusy", "InternalError", "RequestTimeout")
"""What servers answer that have too much to do."""
_MISSING = ("NoSuchKey", "BlobNotFound")
"""What servers call an object that is not there."""


class ObjectFiles:
    """The objects whose names begin with a prefix."""

    is_local = False

    def __init__(self, location: str) -> None:
        """Nothing is sent yet.

        Args:
            location: SCHEME://BUCKET/PREFIX; credentials come from the environment.

        Raises:
            StoreError: the package for it is missing, or the location has no bucket.
        """
        self._store = _opened(location)
        self.location = location.rstrip("/")

    def read(self, name: str) -> bytes:
        """The bytes of an object."""
        with self._translated_errors(name, may_be_missing=True):
            return bytes(_obstore().get(self._store, name).bytes())

    def exists(self, name: str) -> bool:
        """Whether there is such an object."""
        return self.changed(name) > 0

    def inside(self, folder: str = "") -> Inside:
        """What is directly in a folder: one request for each thousand of it."""
        with self._translated_errors(folder):
            listed = _obstore().list_with_delimiter(self._store, folder or None)
        files = [File(entry["path"], entry["size"]) for entry in listed["objects"]]
        files.sort(key=lambda file: file.name)
        return Inside(sorted(listed["common_prefixes"]), files)

    def below(self, folder: str = "") -> Iterator[File]:
        """All files of a folder and of its folders: one request for each thousand."""
        with self._translated_errors(folder):
            for page in _obstore().list(self._store, folder or None):
                yield from (File(entry["path"], entry["size"]) for entry in page)

    def names(self, folder: str = "") -> Iterator[str]:
        """The names of all files of a folder and of its folders."""
        return (file.name for file in self.below(folder))

    def changed(self, name: str) -> float:
        """When an object was written; 0 where there is none."""
        try:
            with self._translated_errors(name, may_be_missing=True):
                head = _obstore().head(self._store, name)
        except FileNotFoundError:
            return 0
        return float(head["last_modified"].timestamp())

    def size(self, name: str) -> int:
        """Bytes of an object.

        Raises:
            FileNotFoundError: there is none.
        """
        with self._translated_errors(name, may_be_missing=True):
            return int(_obstore().head(self._store, name)["size"])

    def part(self, name: str, start: int, length: int) -> bytes:
        """Some bytes of an object.

        Raises:
            FileNotFoundError: there is none.
        """
        with self._translated_errors(name, may_be_missing=True):
            return bytes(_obstore().get_range(self._store, name, start=start, length=length))

    def create(self, name: str, data: bytes) -> bool:
        """Make an object unless there is one. What is there decides, not the answer of the server.

        Raises:
            StoreError: it is refused. If the answer was lost, and what is there cannot be read, it
                may have been made all the same.
        """
        exceptions = _obstore().exceptions
        try:
            with self._translated_errors(name):
                try:
                    _obstore().put(self._store, name, data, mode="create", use_multipart=False)
                except (exceptions.AlreadyExistsError, exceptions.PreconditionError):
                    return self.read(name) == data
        except FileNotFoundError:  # removed since
            return False
        except StoreError:
            with suppress(FileNotFoundError, StoreError):
                if self.read(name) == data:
                    return True
            raise
        return True

    def replace(self, name: str, data: bytes) -> None:
        """Make an object, or put another in its place."""
        with self._translated_errors(name):
            _obstore().put(self._store, name, data)

    def publish(self, finished: Mapping[str, Path]) -> None:
        """Send finished files, several at once."""

        def send(item: tuple[str, Path]) -> None:
            name, file = item
            with self._translated_errors(name):
                _obstore().put(self._store, name, file, max_concurrency=PARTS)

        _each(send, finished.items())

    def delete(self, names: Iterable[str]) -> None:
        """Remove objects, those that are there."""
        listed = list(names)
        for begin in range(0, len(listed), DELETED):
            self._delete(listed[begin : begin + DELETED])

    def _delete(self, names: list[str]) -> None:
        try:
            with self._translated_errors(names[0], may_be_missing=True):
                _obstore().delete(self._store, names)
        except FileNotFoundError:  # some servers refuse to remove what is not there
            if len(names) > 1:
                _each(self._delete, ([name] for name in names))

    def delete_folders(self, folders: Iterable[str]) -> None:
        """Remove the objects of folders."""
        for folder in folders:
            self.delete([*self.names(folder)])

    def opened(self, name: str) -> ObjectReader:
        """An object of which parts are requested as they are read."""
        return ObjectReader(functools.partial(self.part, name), self.size(name))

    def uri(self, name: str) -> str:
        """SCHEME://BUCKET/PREFIX/NAME."""
        return f"{self.location}/{name}"

    def engine_path(self, name: str) -> str:
        """The same with a prefix that DuckDB finds no pattern and no `key=value` in."""
        return f"{quote(self.location, safe=':/@')}/{name}"

    @contextmanager
    def scratch(self) -> Iterator[Path]:
        """A temporary folder of this machine."""
        with tempfile.TemporaryDirectory(prefix="cpmon-") as folder:
            yield Path(folder)

    @contextmanager
    def _translated_errors(self, name: str, *, may_be_missing: bool = False) -> Iterator[None]:
        """Turn what a server or the network answers into a StoreError.

        Args:
            may_be_missing: FileNotFoundError passes, where it is the object that is missing.
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
                "the object storage does not answer as it should",
                code="object-storage-unavailable",
                place=self.uri(name),
                found=_first_line(error),
                effect="what is complete in the store is as it was",
                remedy="do the same again later, with fewer processes if the server has too much"
                " to do; else look at the network and at AWS_ENDPOINT_URL or its like."
                f" {RETRY_S} says for how many seconds a request is sent again",
            ) from None

    def _refused(self, name: str, error: Exception) -> StoreError:
        return StoreError(
            "the object storage refuses it",
            code="object-storage-refused",
            place=self.uri(name),
            found=_first_line(error),
            effect="what is complete in the store is as it was",
            remedy="check the name of the bucket, that it exists, and the credentials in the"
            " environment (AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_REGION or their like)",
        )


class ObjectReader(io.RawIOBase):
    """An object of which parts are requested as they are read."""

    def __init__(self, part: Callable[[int, int], bytes], size: int) -> None:
        """Nothing is requested yet.

        Args:
            part: the bytes from a place on, so many. size: bytes of the object.
        """
        self._part, self._size, self._at = part, size, 0

    def readable(self) -> bool:
        """It is."""
        return True

    def seekable(self) -> bool:
        """It is."""
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        """Go to a place."""
        begin = {io.SEEK_SET: 0, io.SEEK_CUR: self._at, io.SEEK_END: self._size}[whence]
        self._at = begin + offset
        return self._at

    def tell(self) -> int:
        """The place."""
        return self._at

    def read(self, size: int | None = -1) -> bytes:
        """Some bytes, or all that are left."""
        rest = max(self._size - self._at, 0)
        length = rest if size is None or size < 0 else min(size, rest)
        data = self._part(self._at, length) if length else b""
        self._at += len(data)
        return data


def _obstore() -> Any:
    """The library; it takes 0.05 s to load and is wanted for such stores only."""
    try:
        import obstore
    except ImportError:
        raise StoreError(
            "stores in object storage need the package obstore",
            code="object-storage-package-missing",
            effect="nothing was read or made",
            remedy="install it: pip install 'cpmon[objects]'",
        ) from None
    return obstore


def _retried_for() -> timedelta:
    """Raises StoreError where the environment says no number."""
    said = os.environ.get(RETRY_S) or str(RETRY_FOR_S)
    if not said.isdecimal():
        raise StoreError(
            f"{RETRY_S} is no number of seconds",
            code="retry-time-invalid",
            expected="a whole number, as 60",
            found=said,
            effect="nothing was read or made",
            remedy="correct it, or unset it",
        )
    return timedelta(seconds=int(said))


def _opened(location: str) -> ObjectStore:
    """Raises StoreError where the location or the environment makes no sense to the library."""
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
        # The library takes %20 for a blank; to everybody else an address is what it reads.
        return from_url(f"{scheme}://{bucket}/{quote(prefix)}".rstrip("/"), **settings)
    except (obstore.exceptions.BaseError, ValueError) as error:
        raise StoreError(
            "the location of the store cannot be used",
            code="store-location-invalid",
            place=location,
            expected="s3://BUCKET/PREFIX, gs://BUCKET/PREFIX or"
            " abfss://CONTAINER@ACCOUNT.dfs.core.windows.net/PREFIX",
            found=_first_line(error),
            effect="nothing was read or made",
            remedy="name the bucket, and give its credentials and region in the environment",
        ) from None


def _each(do: Callable[[Any], None], items: Iterable[Any]) -> None:
    """Do something for each of several, some at once; the first error is raised."""
    with ThreadPoolExecutor(max_workers=UPLOADS) as pool:
        list(pool.map(do, items))


def _first_line(error: Exception) -> str:
    """What a library says, without its traces and with nothing of a long answer."""
    return str(error).strip().partition("\n\nDebug source")[0][:500]
