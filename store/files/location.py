"""Location of a store: a local path, or a URL of object storage."""

from __future__ import annotations

from ...config.values import scheme_of, url
from ...core.errors import StoreError
from .files import Files
from .local import LocalFiles

SCHEMES = ("s3", "s3a", "gs", "abfs", "abfss", "az")
"""URL schemes of object storage, as in Hadoop and fsspec."""


def open_files(location: str) -> Files:
    """The files below a path or a URL; reads nothing.

    Raises:
        StoreError: the URL has another scheme, or the package for it is missing.
    """
    scheme = scheme_of(location)
    if not scheme:
        return LocalFiles(location)
    if scheme not in SCHEMES:
        raise StoreError(
            f"{scheme}: is not a supported location of a store",
            code="store-location-unsupported",
            place=location,
            expected="a path, s3://BUCKET/PREFIX, gs://BUCKET/PREFIX, or abfss://CONTAINER@...",
            effect="nothing was read or written",
            remedy="name such a location, or mount the storage and name its path",
        )
    from .objects import ObjectFiles

    return ObjectFiles(url(location))
