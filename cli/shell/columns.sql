-- Columns of a table, by its name with or without the schema; of the first schema that has it.
SELECT schema_name || '.' || table_name AS "table", column_name AS "column", data_type AS type,
  comment
FROM duckdb_columns() WHERE NOT internal AND NOT starts_with(schema_name, '_')
  AND (lower(schema_name || '.' || table_name) = $name OR lower(table_name) = $name)
QUALIFY schema_name || '.' || table_name = min(schema_name || '.' || table_name) OVER ()
ORDER BY column_index
