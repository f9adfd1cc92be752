-- How many users of a store are of each class.
SELECT "class", count(*) AS users FROM meta.user_class GROUP BY "class"
