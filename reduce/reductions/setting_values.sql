SELECT system,
       -- Time of the record, or end of the interval for what samples tell, UTC.
       valid_from,
       -- Place in a listing, ascending.
       position,
       -- What is set.
       label,
       -- Its value with its unit. NULL where the record does not tell it.
       setting_value
FROM every
