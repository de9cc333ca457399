"""Listeners of users, who are told each week of their own crawls."""

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
        ("alerts", "0002_listeners_of_a_crawl"),
    ]

    operations = [
        migrations.AddField(
            model_name="listener",
            name="user",
            field=models.OneToOneField(
                help_text=(
                    "who gets a weekly summary of the own crawls, at the address of the account"
                ),
                null=True,
                on_delete=django.db.models.deletion.CASCADE,
                related_name="weekly_summary",
                to=settings.AUTH_USER_MODEL,
            ),
        ),
        migrations.AlterField(
            model_name="listener", name="name", field=models.CharField(max_length=100)
        ),
        migrations.AlterModelOptions(name="listener", options={"ordering": ["name", "pk"]}),
        migrations.AddConstraint(
            model_name="listener",
            constraint=models.UniqueConstraint(
                condition=models.Q(("user", None)),
                fields=("name",),
                name="listeners_differ_by_name",
            ),
        ),
    ]
