-- No more frames are available than can be paged
-- RSAAVAIL against RSAPGABL of SYTRSG, frames below 2 GB: what is on the
-- available list is part of the pageable storage.
-- severity: warning
-- remedy: Compare the layout of SYTRSG with your release.
SELECT system,
       interval_end,
       'below 2 GB' AS object,
       rsaavail AS value,
       0 AS least,
       rsapgabl * 1.01 + 1 AS most
FROM monitor.sytrsg;
