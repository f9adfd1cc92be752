"""The folder of landed dumps: how dumps land in it, what it holds, how it is kept clean."""
