-- The classes of a store: how many of its users are of each, and by which patterns.
WITH counted AS (
  SELECT "class", count(*) AS users FROM meta.user_class GROUP BY "class"),
named AS (
  SELECT "class", min(position) AS place, string_agg(pattern, ' ' ORDER BY position) AS patterns
  FROM _landed."classes.txt"() GROUP BY "class")
SELECT "class", coalesce(users, 0) AS users, coalesce(patterns, '') AS patterns
FROM named FULL JOIN counted USING ("class") ORDER BY place NULLS LAST, "class"
