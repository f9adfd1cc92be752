"""The prompt of `cpmon shell`: statements, dot commands, results, completion, history."""
