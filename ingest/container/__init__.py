"""Containers of dumps: bytes of files and devices to windows of frames and their records."""
