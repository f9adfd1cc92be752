-- Settings of a system in words, one row per system, setting and time from
-- which it has another value. A row is in force from valid_from until
-- valid_until.
CREATE OR REPLACE VIEW _setting (
  -- System.
  system,
  -- Place in a listing, ascending.
  position,
  -- What is set.
  label,
  -- Its value with its unit. NULL where the record does not tell it.
  setting_value,
  -- Since when, UTC: time of the configuration record, or end of the interval
  -- for what samples tell.
  valid_from,
  -- Time of the next value, UTC; NULL while none has followed.
  valid_until
) AS
WITH sys AS (
  SELECT m.system,
         m.tod AS valid_from,
         MAX(m.systmid) AS systmid,
         MAX(m.sysmtype) AS sysmtype,
         MAX(m.sysmmodl) AS sysmmodl,
         MAX(m.sysmseqc) AS sysmseqc,
         MAX(m.lparname) AS lparname,
         MAX(m.lpnumber) AS lpnumber,
         MAX(CAST(m.cpuchar AS BIGINT) & 128) > 0 AS dedicated,
         MAX(CAST(m.cpuchar AS BIGINT) & 64) > 0 AS shared,
         MAX(CAST(m.cpuchar AS BIGINT) & 32) > 0 AS limited,
         MAX(m.cpucfgct) AS cpucfgct,
         MAX(m.cpustnby) AS cpustnby,
         MAX(m.hcpcpeid) AS cp_level,
         MAX(m.systodst_at) AS ipl_at,
         MAX(m.syszone) AS syszone,
         MAX(m.sysckvol) AS sysckvol,
         MAX(m.syswmvol) AS syswmvol,
         -- A system without expanded storage has no record of it: what an
         -- earlier configuration told does not hold any more.
         MAX(CAST(x.sysxtsiz AS DOUBLE)) AS blocks
  FROM monitor.mtrsys AS m
  JOIN _system_configuration AS c
    ON c.system = m.system
    AND c.valid_from = m.tod
  LEFT JOIN monitor.mtrxsg AS x
    ON x.system = m.system
    AND x.tod >= c.valid_from
    AND (c.valid_until IS NULL OR x.tod < c.valid_until)
  GROUP BY m.system, m.tod
),
prp AS (
  SELECT DISTINCT
         system,
         tod AS valid_from,
         pfxidmdl,
         pfxidser
  FROM monitor.mtrprp
),
mem AS (
  SELECT DISTINCT
         system,
         tod AS valid_from,
         rsagstor,
         rsastore,
         sysgtors,
         systors
  FROM monitor.mtrmem
),
spr AS (
  SELECT DISTINCT
         system,
         tod AS valid_from,
         "interval" AS sample_s,
         hfrate,
         sdomsys,
         sdommon,
         sdomsto,
         sdomusr,
         sdompro,
         sdomio,
         sdomvnt,
         sdoisf,
         sdomapl
  FROM monitor.mtrspr
),
epr AS (
  SELECT DISTINCT
         system,
         tod AS valid_from,
         edommon,
         edomsch,
         edomsto,
         edomusr,
         edompro,
         edomio,
         edomsek
  FROM monitor.mtrepr
),
sch AS (
  SELECT DISTINCT
         system,
         tod AS valid_from,
         srmbiasi,
         srmbiasd,
         srmtslic,
         srml1dsp,
         srml2dsp,
         srml3dsp,
         srmp1ldg,
         srmp2ldg,
         srmp3ldg,
         srmp1wss,
         srmp2wss,
         srmp3wss,
         srmwssmp,
         srmxpctg
  FROM monitor.mtrsch
),
master AS (
  SELECT system, valid_from, cpu
  FROM _processor_configuration
  WHERE is_master
),
cpu AS (
  SELECT DISTINCT
         system,
         interval_end AS valid_from,
         pfxcpuad AS cpu,
         CAST(pfxcputy AS BIGINT) AS cpu_type
  FROM monitor.sytprp
  WHERE interval_end IS NOT NULL
),
online AS (
  SELECT c.system,
         c.valid_from,
         p.position,
         p.label,
         -- Only the first line counts processors of every type.
         SUM(CASE WHEN p.cpu_type IS NULL OR c.cpu_type = p.cpu_type
                  THEN 1 ELSE 0 END) AS processors,
         MAX(p.cpu_type) AS cpu_type
  FROM cpu AS c
  CROSS JOIN (VALUES
    (100, 'Processors online', NULL),
    (110, 'Processors online, CP', 0),
    (120, 'Processors online, zAAP', 2),
    (130, 'Processors online, IFL', 3),
    (140, 'Processors online, ICF', 4),
    (150, 'Processors online, zIIP', 5)
  ) AS p (position, label, cpu_type)
  GROUP BY c.system, c.valid_from, p.position, p.label
),
counted AS (
  SELECT system,
         valid_from,
         position,
         label,
         processors,
         cpu_type,
         -- A type that the system never had needs no line.
         MAX(processors) OVER (PARTITION BY system, position) AS most
  FROM online
),
every AS (
  SELECT r.system,
         r.valid_from,
         p.position,
         p.label,
         CASE p.position
           WHEN 10 THEN r.systmid
           WHEN 20 THEN r.sysmtype || '-' || r.sysmmodl
           WHEN 30 THEN r.sysmseqc
           WHEN 60 THEN COALESCE(
             nullif(r.lparname, ''), CASE WHEN r.lparname = '' THEN 'none' END
           )
           WHEN 70 THEN CAST(r.lpnumber AS VARCHAR)
           WHEN 80 THEN CASE
             WHEN r.dedicated THEN 'dedicated'
             WHEN r.shared AND r.limited THEN 'shared, capped'
             WHEN r.shared THEN 'shared' END
           WHEN 160 THEN CAST(r.cpucfgct AS VARCHAR)
           WHEN 170 THEN CAST(r.cpustnby AS VARCHAR)
           WHEN 210 THEN CAST(CAST(ROUND(r.blocks / 256) AS BIGINT) AS VARCHAR)
             || ' MB'
           WHEN 220 THEN CASE
             -- Digits alone: two each for version, release and modification.
             WHEN TRIM(translate(r.cp_level, '0123456789', '          ')) = ''
               AND r.cp_level <> ''
             THEN COALESCE(
                 nullif(ltrim(substr(r.cp_level, 1, 2), '0'), ''), '0'
               )
               || '.'
               || COALESCE(
                 nullif(ltrim(substr(r.cp_level, 3, 2), '0'), ''), '0'
               )
               || '.'
               || COALESCE(
                 nullif(ltrim(substr(r.cp_level, 5, 2), '0'), ''), '0'
               )
               || ' (' || r.cp_level || ')'
             ELSE r.cp_level END
           WHEN 230 THEN replace(
             substr(CAST(r.ipl_at AS VARCHAR), 1, 19), 'T', ' '
           ) || ' UTC'
           WHEN 240 THEN CAST(r.syszone AS VARCHAR) || ' s'
           WHEN 250 THEN r.sysckvol
           WHEN 260 THEN r.syswmvol
         END AS setting_value
  FROM sys AS r
  CROSS JOIN (VALUES
    (10, 'System'),
    (20, 'Machine type and model'),
    (30, 'Machine serial number'),
    (60, 'Partition'),
    (70, 'Partition number'),
    (80, 'Processors of the partition'),
    (160, 'Processors configured'),
    (170, 'Processors in standby'),
    (210, 'Expanded storage'),
    (220, 'CP level'),
    (230, 'IPL'),
    (240, 'Time zone offset'),
    (250, 'Checkpoint volume'),
    (260, 'Warm start volume')
  ) AS p (position, label)
  UNION ALL
  SELECT r.system,
         r.valid_from,
         p.position,
         p.label,
         CASE p.position
           WHEN 40 THEN r.pfxidmdl
           WHEN 50 THEN r.pfxidser
         END AS setting_value
  FROM prp AS r
  CROSS JOIN (VALUES
    (40, 'Processor model'),
    (50, 'Processor serial number')
  ) AS p (position, label)
  UNION ALL
  SELECT r.system,
         r.valid_from,
         p.position,
         p.label,
         CASE p.position
           WHEN 180 THEN CAST(r.cpu AS VARCHAR)
         END AS setting_value
  FROM master AS r
  CROSS JOIN (VALUES
    (180, 'Master processor')
  ) AS p (position, label)
  UNION ALL
  SELECT r.system,
         r.valid_from,
         p.position,
         p.label,
         CASE p.position
           WHEN 190 THEN CAST(CAST(ROUND(
             COALESCE(r.rsagstor, r.rsastore) / 1048576e0
           ) AS BIGINT) AS VARCHAR) || ' MB'
           WHEN 200 THEN CAST(CAST(ROUND(
             COALESCE(r.sysgtors, r.systors) / 1048576e0
           ) AS BIGINT) AS VARCHAR) || ' MB'
         END AS setting_value
  FROM mem AS r
  CROSS JOIN (VALUES
    (190, 'Real storage'),
    (200, 'Real storage used by CP')
  ) AS p (position, label)
  UNION ALL
  SELECT r.system,
         r.valid_from,
         p.position,
         p.label,
         CASE p.position
           WHEN 270 THEN CAST(r.sample_s AS VARCHAR) || ' s'
           WHEN 280 THEN 'every ' || CAST(CAST(r.hfrate / 100e0
             AS DECIMAL(9, 2)) AS VARCHAR) || ' s'
           WHEN 290 THEN concat_ws(', ',
             CASE WHEN r.sdomsys THEN 'system' END,
             CASE WHEN r.sdommon THEN 'monitor' END,
             CASE WHEN r.sdomsto THEN 'storage' END,
             CASE WHEN r.sdomusr THEN 'user' END,
             CASE WHEN r.sdompro THEN 'processor' END,
             CASE WHEN r.sdomio THEN 'I/O' END,
             CASE WHEN r.sdomvnt THEN 'network' END,
             CASE WHEN r.sdoisf THEN 'ISFC' END,
             CASE WHEN r.sdomapl THEN 'appldata' END)
         END AS setting_value
  FROM spr AS r
  CROSS JOIN (VALUES
    (270, 'Monitor sample interval'),
    (280, 'High-frequency sampling'),
    (290, 'Sample domains')
  ) AS p (position, label)
  UNION ALL
  SELECT r.system,
         r.valid_from,
         p.position,
         p.label,
         CASE p.position
           WHEN 300 THEN concat_ws(', ',
             CASE WHEN r.edommon THEN 'monitor' END,
             CASE WHEN r.edomsch THEN 'scheduler' END,
             CASE WHEN r.edomsto THEN 'storage' END,
             CASE WHEN r.edomusr THEN 'user' END,
             CASE WHEN r.edompro THEN 'processor' END,
             CASE WHEN r.edomio THEN 'I/O' END,
             CASE WHEN r.edomsek THEN 'seeks' END)
         END AS setting_value
  FROM epr AS r
  CROSS JOIN (VALUES
    (300, 'Event domains')
  ) AS p (position, label)
  UNION ALL
  SELECT r.system,
         r.valid_from,
         p.position,
         p.label,
         CASE p.position
           WHEN 310 THEN CAST(r.srmbiasi AS VARCHAR)
             || ' ' || CAST(r.srmbiasd AS VARCHAR)
           WHEN 320 THEN CAST(CAST(CAST(r.srmtslic AS DOUBLE) / 4096e3
             AS DECIMAL(18, 3)) AS VARCHAR) || ' ms'
           WHEN 330 THEN CAST(r.srml1dsp AS VARCHAR)
             || ' ' || CAST(r.srml2dsp AS VARCHAR)
             || ' ' || CAST(r.srml3dsp AS VARCHAR)
           WHEN 340 THEN CAST(r.srmp1ldg AS VARCHAR)
             || ' ' || CAST(r.srmp2ldg AS VARCHAR)
             || ' ' || CAST(r.srmp3ldg AS VARCHAR)
           WHEN 350 THEN CAST(r.srmp1wss AS VARCHAR)
             || ' ' || CAST(r.srmp2wss AS VARCHAR)
             || ' ' || CAST(r.srmp3wss AS VARCHAR)
           WHEN 360 THEN CAST(r.srmwssmp AS VARCHAR) || ' %'
           WHEN 370 THEN CAST(r.srmxpctg AS VARCHAR) || ' %'
         END AS setting_value
  FROM sch AS r
  CROSS JOIN (VALUES
    (310, 'SRM IABIAS'),
    (320, 'SRM DSPSLICE'),
    (330, 'SRM DSPBUF'),
    (340, 'SRM LDUBUF'),
    (350, 'SRM STORBUF'),
    (360, 'SRM MAXWSS'),
    (370, 'SRM XSTORE')
  ) AS p (position, label)
  UNION ALL
  SELECT system,
         valid_from,
         position,
         label,
         CAST(processors AS VARCHAR) AS setting_value
  FROM counted
  WHERE cpu_type IS NULL OR most > 0
),
stepped AS (
  SELECT system,
         position,
         label,
         setting_value,
         valid_from,
         ROW_NUMBER() OVER w AS place,
         LAG(setting_value) OVER w AS before
  FROM every
  WINDOW w AS (PARTITION BY system, position ORDER BY valid_from)
),
changed AS (
  SELECT system, position, label, setting_value, valid_from
  FROM stepped
  WHERE place = 1
    OR setting_value <> before
    OR (setting_value IS NULL) <> (before IS NULL)
)
SELECT system,
       CAST(position AS BIGINT) AS position,
       label,
       setting_value,
       valid_from,
       LEAD(valid_from) OVER (
         PARTITION BY system, position ORDER BY valid_from
       ) AS valid_until
FROM changed;
