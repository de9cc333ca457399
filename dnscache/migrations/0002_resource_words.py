"""Help texts in the words of pages."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("dnscache", "0001_initial"),
    ]

    operations = [
        migrations.AlterField(
            model_name="dnsminute",
            name="database",
            field=models.PositiveIntegerField(
                help_text="answers from PostgreSQL: those pre-resolved, among others"
            ),
        ),
        migrations.AlterField(
            model_name="dnspreresolver",
            name="counts",
            field=models.JSONField(help_text="results of names since it started"),
        ),
    ]
