-- Columns by table, in lower case; what begins with an underscore is private. The tables of main are
-- named with their schema and without.
WITH listed AS (
  SELECT lower(schema_name) AS "schema", lower(table_name) AS "table",
    list(column_name ORDER BY column_index) AS "columns"
  FROM duckdb_columns() WHERE NOT internal AND NOT starts_with(schema_name, '_')
    AND NOT starts_with(table_name, '_') GROUP BY ALL)
SELECT "schema" || '.' || "table", "columns" FROM listed
UNION ALL SELECT "table", "columns" FROM listed WHERE "schema" = 'main'
