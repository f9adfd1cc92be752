"""Notebooks of marimo, which `cpmon notebook` copies; they use `import cpmon` alone."""
