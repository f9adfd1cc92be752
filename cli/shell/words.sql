-- Keywords and functions of DuckDB.
SELECT keyword_name FROM duckdb_keywords()
UNION SELECT function_name FROM duckdb_functions()
WHERE internal AND function_type IN ('scalar', 'aggregate')
  AND regexp_matches(function_name, '^[a-z]')
