-- Types of processors: how records name and number them, and how they are
-- shown. LPAR records have the names of DIAGNOSE X'224', where a zAAP may also
-- be IFA or AAP and a zIIP IIP; the codes are those of z/Architecture.
CREATE OR REPLACE VIEW _processor_types AS
WITH type AS (
  SELECT 'CP' AS recorded, 0 AS code, 'CP' AS processor_type
  UNION ALL
  SELECT 'ZAAP' AS recorded, 2 AS code, 'zAAP' AS processor_type
  UNION ALL
  SELECT 'AAP' AS recorded, NULL AS code, 'zAAP' AS processor_type
  UNION ALL
  SELECT 'IFA' AS recorded, NULL AS code, 'zAAP' AS processor_type
  UNION ALL
  SELECT 'IFL' AS recorded, 3 AS code, 'IFL' AS processor_type
  UNION ALL
  SELECT 'ICF' AS recorded, 4 AS code, 'ICF' AS processor_type
  UNION ALL
  SELECT 'ZIIP' AS recorded, 5 AS code, 'zIIP' AS processor_type
  UNION ALL
  SELECT 'IIP' AS recorded, NULL AS code, 'zIIP' AS processor_type
)
SELECT -- Name as SYTCUP and SYTCUM have it, in upper case.
       recorded,
       -- Code as SYTPRP has it. NULL for a further name of a type.
       code,
       -- Name as it is shown.
       processor_type
FROM type;
