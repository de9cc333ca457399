"""The functions' plans do not depend on the values, and to ask that anew in each of their statements took a twentieth of a grant."""

from django.db import migrations

FUNCTIONS = ("allocation_grant", "allocation_release")


class Migration(migrations.Migration):
    dependencies = [("allocation", "0014_conservation_of_holders")]
    operations = [
        migrations.RunSQL(f"ALTER FUNCTION {name} SET plan_cache_mode TO force_generic_plan", f"ALTER FUNCTION {name} RESET ALL")
        for name in FUNCTIONS
    ]
