"""The files of a store, in a folder of this machine or in object storage, by their names."""

from .files import File, Files, Inside
from .location import open_files

__all__ = ["File", "Files", "Inside", "open_files"]
