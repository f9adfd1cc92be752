-- What the users of each class are charged for, one row per system, interval
-- and class: the sums of user_classes_by_time, and what is not known of a row,
-- since a sum that lacks an interval would be taken for that of the day.
CREATE OR REPLACE VIEW charges_by_time AS
SELECT c.system,
       c.interval_end,
       c.class,
       c.seconds,
       c.members,
       c.member_seconds,
       c.cpu_tod,
       c.virtual_tod,
       c.ios,
       c.pages_moved,
       c.storage_mib_seconds,
       c.resident_page_seconds,
       nullif(
         concat_ws(
           ', ', c.doubts,
           CASE WHEN c.seconds IS NOT NULL AND c.storage_mib_seconds IS NULL
                THEN 'storage of users is not known' END,
           CASE WHEN c.seconds IS NOT NULL AND c.resident_page_seconds IS NULL
                THEN 'pages of users above 2 GB are not known' END
         ), ''
       ) AS doubts
FROM _user_classes_by_time AS c;
