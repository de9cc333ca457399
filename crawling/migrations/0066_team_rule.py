from django.db import migrations, models


def keep_old_rule(apps, schema_editor):
    """Where there are users already, operators act on all crawls as before, until an administrator
    changes that.
    """
    if apps.get_model("auth", "User").objects.exists():
        apps.get_model("crawling", "TeamRule").objects.create(pk=1, own_crawls_only=False)


class Migration(migrations.Migration):
    dependencies = [
        ("auth", "0012_alter_user_first_name_max_length"),
        ("crawling", "0065_experiment_rounds"),
    ]

    operations = [
        migrations.CreateModel(
            name="TeamRule",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "own_crawls_only",
                    models.BooleanField(
                        help_text="whether operators act on crawls of their own and of their "
                        "teams only"
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(("pk", 1)), name="there_is_one_team_rule"
                    )
                ],
            },
        ),
        migrations.RunPython(keep_old_rule, migrations.RunPython.noop),
    ]
