-- Who holds nothing adds nothing: only holders are read, by their index, since every page asks for it.
CREATE OR REPLACE VIEW conservation AS
SELECT pool.id || ':' || class.ordinal AS id,
       pool.id AS pool_id,
       class.ordinal,
       class.key,
       pool.capacity[class.ordinal + 1] AS capacity,
       pool.available[class.ordinal + 1] AS available,
       held.units AS allocated,
       pool.capacity[class.ordinal + 1] - pool.available[class.ordinal + 1] - held.units
           AS difference,
       held.units - granted.units AS ungranted
  FROM allocation_pool AS pool
  JOIN allocation_resourceclass AS class ON class.pool_id = pool.id
 CROSS JOIN LATERAL (
       SELECT coalesce(sum(process.allocated[class.ordinal + 1]), 0) AS units
         FROM allocation_process AS process
        WHERE process.pool_id = pool.id AND process.holding) AS held
 CROSS JOIN LATERAL (
       SELECT coalesce(sum(one.remaining[class.ordinal + 1]), 0) AS units
         FROM allocation_grant AS one
         JOIN allocation_process AS process ON process.id = one.process_id
        WHERE process.pool_id = pool.id AND one.released_at IS NULL) AS granted;
