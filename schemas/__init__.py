"""What bytes mean: record layouts as data, and the small vocabulary that reads them."""

from .errors import BusyError, CpmonError, DumpError, LayoutError, StoreError
from .layout import (
    HEADER,
    HEADER_LENGTH,
    Field,
    Group,
    Kind,
    Layout,
    Provenance,
    Role,
    Type,
    release_key,
)
from .registry import by_record, fingerprint, layout, layouts, record_names, tables

__all__ = [
    "HEADER",
    "HEADER_LENGTH",
    "BusyError",
    "CpmonError",
    "DumpError",
    "Field",
    "Group",
    "Kind",
    "Layout",
    "LayoutError",
    "Provenance",
    "Role",
    "StoreError",
    "Type",
    "by_record",
    "fingerprint",
    "layout",
    "layouts",
    "record_names",
    "release_key",
    "tables",
]
