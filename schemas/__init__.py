"""Record layouts as data, and the vocabulary that describes them."""

from .field import HEADER, HEADER_LENGTH, Field, Role, Type
from .layout import Group, Kind, Layout
from .registry import by_record, fingerprint, layout, layouts, record_names, tables
from .release import release_key

__all__ = [
    "HEADER",
    "HEADER_LENGTH",
    "Field",
    "Group",
    "Kind",
    "Layout",
    "Role",
    "Type",
    "by_record",
    "fingerprint",
    "layout",
    "layouts",
    "record_names",
    "release_key",
    "tables",
]
