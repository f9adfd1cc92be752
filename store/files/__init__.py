"""The files of a store by name, in a local folder or in object storage."""

from .files import File, Files, Inside
from .location import open_files

__all__ = ["File", "Files", "Inside", "open_files"]
