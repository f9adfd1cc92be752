"""SQL of users: checked by the guard, run in the sandbox."""
