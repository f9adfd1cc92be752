-- A row if days of a system between $first and $last may be kept in roll-ups of a reduction only.
SELECT 1 FROM meta.reduced AS r
WHERE r.reduction = $reduction AND r.system = $system AND r.level <> 'interval'
  AND r.last_day >= $first AND r.first_day <= $last
  AND NOT EXISTS (
    SELECT 1 FROM meta.reduced AS i
    WHERE i.reduction = r.reduction AND i.system = r.system AND i.level = 'interval'
      AND i.first_day <= greatest(r.first_day, $first)
      AND i.last_day >= least(r.last_day, $last))
LIMIT 1
