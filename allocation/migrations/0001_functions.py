"""What the tables' constraints and defaults call."""

from django.db import migrations

WITHIN = """
CREATE FUNCTION allocation_within(lower_amounts integer[], upper_amounts integer[]) RETURNS boolean
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN cardinality(lower_amounts) = cardinality(upper_amounts)
   AND NOT EXISTS (SELECT FROM unnest(lower_amounts, upper_amounts) AS cell(lower_amount, upper_amount)
                   WHERE (lower_amount <= upper_amount) IS NOT TRUE);
COMMENT ON FUNCTION allocation_within IS 'every entry of the first is at most that of the second; <= on arrays is lexicographic';
"""


class Migration(migrations.Migration):
    initial = True
    dependencies = []
    operations = [
        migrations.RunSQL(WITHIN, "DROP FUNCTION allocation_within"),
        migrations.RunSQL("CREATE SEQUENCE allocation_request_order", "DROP SEQUENCE allocation_request_order"),
    ]
