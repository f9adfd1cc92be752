-- Columns of reductions and of meta tables by name, in any table or in $table.
SELECT schema_name || '.' || table_name AS "table", column_name AS "column", data_type AS type,
  comment AS meaning
FROM duckdb_columns() WHERE NOT internal AND lower(column_name) = $column
  AND schema_name IN ('main', 'meta') AND NOT starts_with(table_name, '_')
  AND ($table = '' OR lower(table_name) = $table)
ORDER BY ALL
