-- Fields of records by name, in any table or in $table.
SELECT table_name AS "table", name AS "field", column_name AS "column", domain, record, "offset",
  length, type, role, unit, code, provenance, meaning
FROM meta.dictionary
WHERE lower(name) = $column AND ($table = '' OR lower(table_name) = $table)
ORDER BY ALL
