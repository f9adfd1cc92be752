-- Delta of a counter between two samples of one owner, in its own unit.
--
-- A delta lies between 0 and `most`, what the counter can grow by in that
-- time. A value below the previous one has wrapped if adding `modulus` (2^32
-- or 2^16; NULL for 64 bits, which never wrap) makes such a delta of it. All
-- else is NULL: a session, device or system that started again, a counter that
-- slipped, or a value of which a bit is wrong.
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

-- Sum of whole numbers over the rows of a group, NULL unless it is known of
-- each of them: what is known of a part is not the whole.
CREATE OR REPLACE MACRO complete_sum(number) AS
  CASE WHEN count(number) = count(*) THEN TRY_CAST(sum(number) AS BIGINT) END;

-- What is not known of the rows of a group: two kinds of doubts, the first and
-- the last by name, where there are more. Causes come before counters. NULL
-- without any.
CREATE OR REPLACE MACRO all_doubts(doubt) AS
  nullif(
    concat_ws(
      ', ', min(doubt), CASE WHEN max(doubt) <> min(doubt) THEN max(doubt) END
    ), ''
  );

-- Whether a figure lies outside of what is possible, NULL being no bound. Half
-- a percent and a thousandth beside it are tolerated: the records of a sample
-- are not of one moment.
CREATE OR REPLACE MACRO is_outside(figure, low, high) AS
  coalesce(
    figure < low - 0.001e0 OR figure > high * 1.005e0 + 0.001e0, FALSE
  );

-- Seconds of a time in TOD units, of which a microsecond has 4096.
CREATE OR REPLACE MACRO tod_seconds(units) AS units / 4096e6;

-- The number of 64 bits that landed as the signed number of the same bits.
CREATE OR REPLACE MACRO as_unsigned(landed) AS
  CAST(landed & 9223372036854775807 AS UBIGINT)
  + CASE WHEN landed < 0 THEN CAST(9223372036854775808 AS UBIGINT) ELSE 0 END;

-- UTC time of a TOD clock value; NULL for a clock that was never set.
--
-- The clock counts from 1900 and starts again at 0 after 2^52 microseconds, on
-- 2042-09-17. No monitor data is older than 1970: values below the clock of
-- 1970-01-01 are of the time from 2042 on.
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
