"""The matrices as rows, and the check that no unit is lost."""

from django.db import migrations

MATRIX_CELL = """
CREATE VIEW matrix_cell AS
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
 WHERE process.state <> 'finished'
"""
CONSERVATION = """
CREATE VIEW conservation AS
SELECT pool.id || ':' || class.ordinal AS id,
       pool.id AS pool_id,
       class.ordinal,
       class.key,
       pool.capacity[class.ordinal + 1] AS capacity,
       pool.available[class.ordinal + 1] AS available,
       held.units AS allocated,
       pool.capacity[class.ordinal + 1] - pool.available[class.ordinal + 1] - held.units AS difference,
       held.units - granted.units AS ungranted
  FROM allocation_pool AS pool
  JOIN allocation_resourceclass AS class ON class.pool_id = pool.id
 CROSS JOIN LATERAL (SELECT coalesce(sum(process.allocated[class.ordinal + 1]), 0) AS units
                       FROM allocation_process AS process
                      WHERE process.pool_id = pool.id) AS held
 CROSS JOIN LATERAL (SELECT coalesce(sum(one.remaining[class.ordinal + 1]), 0) AS units
                       FROM allocation_grant AS one
                       JOIN allocation_process AS process ON process.id = one.process_id
                      WHERE process.pool_id = pool.id AND one.released_at IS NULL) AS granted
"""


class Migration(migrations.Migration):
    dependencies = [("allocation", "0003_ledger_is_append_only")]
    operations = [
        migrations.RunSQL(MATRIX_CELL, "DROP VIEW matrix_cell"),
        migrations.RunSQL(CONSERVATION, "DROP VIEW conservation"),
    ]
