-- Tables and views, those with $like in the name; empty is all.
SELECT schema_name || '.' || view_name AS "table", comment FROM duckdb_views()
WHERE NOT internal
  AND NOT starts_with(schema_name, '_') AND NOT starts_with(view_name, '_')
  AND ($like = '' OR view_name ILIKE $like ESCAPE '^'
    OR schema_name || '.' || view_name ILIKE $like ESCAPE '^')
UNION ALL BY NAME
SELECT schema_name || '.' || table_name AS "table", comment FROM duckdb_tables()
WHERE NOT internal AND schema_name = 'meta' AND ($like = '' OR table_name ILIKE $like ESCAPE '^'
    OR schema_name || '.' || table_name ILIKE $like ESCAPE '^')
ORDER BY "table"
