"""The prompt of `cpmon shell`: statements and dot commands, their answers, completion, history."""
