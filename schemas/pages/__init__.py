"""IBM's record pages: parsed, and merged into the layouts of a site."""
