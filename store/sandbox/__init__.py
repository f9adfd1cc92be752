"""Users' SQL: checked by the guard, run in the sandbox."""
