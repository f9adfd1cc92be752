-- Delta of a counter between two samples of one owner, in its own unit.
--
-- A delta lies between 0 and `most`, the maximum increase in that time. A
-- value below the previous one has wrapped if adding `modulus` (2^32 or 2^16;
-- NULL for 64 bits, which never wrap) gives such a delta. All other cases are
-- NULL: a session, device or system that restarted, a counter that slipped, or
-- a value with a flipped bit.
--
--   now_value  previous     modulus     most  delta
--          40        10  4294967296     1000     30
--          10  4294967290  4294967296   1000     16
--           5        40  4294967296     1000   NULL
--        5000        40  4294967296     1000   NULL
--           5        40        NULL     1000   NULL
CREATE OR REPLACE MACRO counter_delta(now_value, previous, modulus, most) AS
CASE
  WHEN now_value >= previous
    THEN CASE WHEN now_value - previous <= most
              THEN TRY_CAST(now_value - previous AS BIGINT)
         END
  WHEN now_value - previous + modulus <= most
    THEN TRY_CAST(now_value - previous + modulus AS BIGINT)
END;

-- Sum of integers over the rows of a group; NULL if any of them is NULL, since
-- a partial sum is not the total.
CREATE OR REPLACE MACRO complete_sum(number) AS
  CASE WHEN count(number) = count(*) THEN TRY_CAST(sum(number) AS BIGINT) END;

-- The doubts of the rows of a group: at most two kinds, the first and the last
-- in alphabetical order. Causes come before counters. NULL if there are none.
CREATE OR REPLACE MACRO all_doubts(doubt) AS
  nullif(
    concat_ws(
      ', ', min(doubt), CASE WHEN max(doubt) <> min(doubt) THEN max(doubt) END
    ), ''
  );

-- Whether a figure is outside of its bounds; NULL means no bound. Tolerates
-- half a percent and a thousandth, since the records of a sample are not
-- simultaneous.
CREATE OR REPLACE MACRO is_outside(figure, low, high) AS
  coalesce(
    figure < low - 0.001e0 OR figure > high * 1.005e0 + 0.001e0, FALSE
  );

-- Whether an interval belongs to a stated span: it ends after `since`, up to
-- `until`. CP writes its end up to a second after the time at which it was
-- due, so both bounds have that grace period (core/grace_period.py).
CREATE OR REPLACE MACRO ends_within(interval_end, since, until) AS
  interval_end > since + INTERVAL 1 SECOND
  AND interval_end <= until + INTERVAL 1 SECOND;

-- Whether a row that is in force from `valid_from` until `valid_until` (NULL:
-- until now) is in force at a moment.
CREATE OR REPLACE MACRO as_of(moment, valid_from, valid_until) AS
  valid_from <= moment AND (valid_until IS NULL OR valid_until > moment);

-- Ids of the channel paths that a path mask (RDEVLPM) allows, such as 1A 2A;
-- empty where it allows none. The ids (RDEVCHPS) in halves: a signed number
-- cannot hold all eight.
CREATE OR REPLACE MACRO path_ids(mask, halves_1, halves_2) AS
  trim(
    CASE WHEN mask & 128 > 0 THEN substr(halves_1, 1, 2) ELSE '' END
    || CASE WHEN mask & 64 > 0 THEN ' ' || substr(halves_1, 3, 2) ELSE '' END
    || CASE WHEN mask & 32 > 0 THEN ' ' || substr(halves_1, 5, 2) ELSE '' END
    || CASE WHEN mask & 16 > 0 THEN ' ' || substr(halves_1, 7, 2) ELSE '' END
    || CASE WHEN mask & 8 > 0 THEN ' ' || substr(halves_2, 1, 2) ELSE '' END
    || CASE WHEN mask & 4 > 0 THEN ' ' || substr(halves_2, 3, 2) ELSE '' END
    || CASE WHEN mask & 2 > 0 THEN ' ' || substr(halves_2, 5, 2) ELSE '' END
    || CASE WHEN mask & 1 > 0 THEN ' ' || substr(halves_2, 7, 2) ELSE '' END
  );
CREATE OR REPLACE MACRO hexadecimal_half(paths) AS
  upper(lpad(to_hex(paths), 8, '0'));

-- Converts TOD units, 4096 per microsecond, to seconds.
CREATE OR REPLACE MACRO tod_seconds(units) AS units / 4096e6;

-- The unsigned 64-bit number that landed as a signed number of the same bits.
CREATE OR REPLACE MACRO as_unsigned(landed) AS
  CAST(landed & 9223372036854775807 AS UBIGINT)
  + CASE WHEN landed < 0 THEN CAST(9223372036854775808 AS UBIGINT) ELSE 0 END;

-- UTC time of a TOD clock value; NULL for a clock that was never set.
--
-- The clock counts from 1900 and wraps to 0 after 2^52 microseconds, on
-- 2042-09-17. No monitor data is older than 1970, so values below the clock of
-- 1970-01-01 are times from 2042 on.
--
--   clock                 time
--   0                     NULL
--   4096                  2042-09-17 23:53:47.370497
--   9048018124800000000   1970-01-01 00:00:00
CREATE OR REPLACE MACRO tod_timestamp(clock) AS
  make_timestamp(
    CAST(nullif(clock, 0) // 4096 AS BIGINT) - 2208988800000000
    + CASE WHEN clock < 9048018124800000000 THEN 4503599627370496 ELSE 0 END
  );
