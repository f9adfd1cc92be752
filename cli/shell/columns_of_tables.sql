-- Columns by schema and table, in lower case; what begins with an underscore is private.
SELECT lower(schema_name), lower(table_name), list(column_name ORDER BY column_index)
FROM duckdb_columns() WHERE NOT internal AND NOT starts_with(schema_name, '_')
  AND NOT starts_with(table_name, '_') GROUP BY ALL
