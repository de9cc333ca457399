CREATE OR REPLACE VIEW matrix_cell AS
SELECT process.id || ':' || class.ordinal AS id,
       process.pool_id,
       process.id AS process_id,
       class.ordinal,
       class.key,
       class.unit,
       process.max_claim[class.ordinal + 1] AS maximum,
       process.allocated[class.ordinal + 1] AS allocation,
       process.max_claim[class.ordinal + 1] - process.allocated[class.ordinal + 1] AS need
  FROM allocation_process AS process
  JOIN allocation_resourceclass AS class ON class.pool_id = process.pool_id
 WHERE process.state <> 'finished';
