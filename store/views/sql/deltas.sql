-- Delta of a counter between two samples, in the counter's own unit.
--
-- NULL at the first sample and where either value is missing. A counter of 32
-- or 16 bits that fell has wrapped: the missing 2^bits is added. A counter of
-- 64 bits never wraps; where it fell the system or user started again: NULL.
-- So is a delta of 2^53 and more, which nothing reaches within an interval (of
-- TOD units, 25 days): then a bit of one of the two values is wrong.
--
--   now_value  previous     bits  delta
--          40        10       32     30
--          10  4294967290     32     16
--           5        40       64   NULL
CREATE OR REPLACE MACRO counter_delta(now_value, previous, bits) AS
CASE
  WHEN now_value >= previous
    THEN CASE WHEN now_value - previous < 9007199254740992
              THEN TRY_CAST(now_value - previous AS BIGINT)
         END
  WHEN bits < 64
    THEN TRY_CAST(
      CAST(now_value AS HUGEINT) + (CAST(1 AS HUGEINT) << bits) - previous
      AS BIGINT
    )
END;

-- Delta of a running time that is kept as a counter running downwards.
--
-- The same rules, seen in a mirror: a value below the previous one is an increase.
CREATE OR REPLACE MACRO countdown_delta(now_value, previous, bits) AS
  counter_delta(previous, now_value, bits);

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
