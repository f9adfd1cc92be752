"""One interval of the model in detail: by user, by volume, by processor, by transaction."""
