-- Fields of records, by name and by table and name.
SELECT DISTINCT unnest([name, table_name || '.' || name])
FROM meta.dictionary WHERE name IS NOT NULL
