-- Whether Linux guests say that they used more processor time than CP gave
-- them, one row per system, interval and guest: APLSDT (D10R2) is written by
-- the guest, USEACT (D4R3) by CP. A guest writes its block at times of its own,
-- up to an interval and a half before the sample: so an interval of the guest
-- is held against three of CP. Only while the guest writes a block in each
-- interval, and has as many processors as before.
CREATE OR REPLACE VIEW _guest_witness AS
WITH own AS (
  SELECT system,
         dump,
         interval_end,
         userid,
         COUNT(*) AS processors,
         SUM(CAST(per_cpu_user AS DOUBLE) + CAST(per_cpu_nice AS DOUBLE)
             + CAST(per_cpu_system AS DOUBLE) + CAST(per_cpu_irq AS DOUBLE)
             + CAST(per_cpu_softirq AS DOUBLE)) AS busy_ticks
  FROM monitor.aplsdt_os_cpu
  WHERE interval_end IS NOT NULL
  GROUP BY system, dump, interval_end, userid
),
used AS (
  SELECT system,
         dump,
         interval_end,
         userid,
         CASE WHEN LAG(busy_ticks) OVER w > LAG(busy_ticks, 2) OVER w
              AND processors = LAG(processors) OVER w
              THEN busy_ticks - LAG(busy_ticks) OVER w END AS busy_ticks
  FROM own
  WINDOW w AS (PARTITION BY system, dump, userid ORDER BY interval_end)
),
given AS (
  SELECT system,
         dump,
         interval_end,
         vmduser AS userid,
         COUNT(*) AS processors,
         SUM(CAST(vmdttime AS DOUBLE)) AS cpu_tod
  FROM monitor.useact
  WHERE interval_end IS NOT NULL
  GROUP BY system, dump, interval_end, vmduser
),
followed AS (
  SELECT system,
         dump,
         interval_end,
         userid,
         CASE WHEN cpu_tod >= LAG(cpu_tod) OVER w
              AND LAG(cpu_tod) OVER w >= LAG(cpu_tod, 2) OVER w
              AND LAG(cpu_tod, 2) OVER w >= LAG(cpu_tod, 3) OVER w
              AND processors = LAG(processors) OVER w
              AND processors = LAG(processors, 2) OVER w
              AND processors = LAG(processors, 3) OVER w
              THEN cpu_tod - LAG(cpu_tod, 3) OVER w END AS cpu_tod
  FROM given
  WINDOW w AS (PARTITION BY system, dump, userid ORDER BY interval_end)
),
compared AS (
  SELECT u.system,
         u.interval_end,
         u.userid,
         MAX(u.busy_ticks / 1e2) AS busy_s,
         MAX(1.05e0 * f.cpu_tod / 4096e6 + 1) AS most_s
  FROM used AS u
  JOIN followed AS f
    ON f.system = u.system
    AND f.dump = u.dump
    AND f.interval_end = u.interval_end
    AND f.userid = u.userid
  WHERE u.busy_ticks IS NOT NULL
    AND f.cpu_tod IS NOT NULL
  GROUP BY u.system, u.interval_end, u.userid
)
SELECT system,
       interval_end,
       -- User id of the guest.
       userid,
       -- Running of its processors as the guest counts it, seconds.
       busy_s,
       -- What that can be at most: the processor time that CP counts in this
       -- interval and the two before, and 5 % and a second.
       most_s,
       CASE WHEN busy_s > most_s THEN 'USEACT contradicts APLSDT' END AS doubts
FROM compared;
