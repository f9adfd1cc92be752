"""Interactive commands: the prompt of `cpmon shell`, pages in a browser, notebooks."""
