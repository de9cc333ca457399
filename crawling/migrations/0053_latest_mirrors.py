from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("crawling", "0052_tables_of_pages"),
    ]

    operations = [
        migrations.RemoveConstraint(model_name="runexport", name="exports_named_as_ours"),
        migrations.AlterField(
            model_name="runexport",
            name="kind",
            field=models.CharField(
                choices=[
                    ("wacz", "WACZ file"),
                    ("mirror", "mirror"),
                    ("latest-mirror", "mirror of the latest pages"),
                ],
                max_length=20,
            ),
        ),
        migrations.AddConstraint(
            model_name="runexport",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    (
                        "name__regex",
                        "^(wacz|mirror|latest-mirror)[0-9]{1,19}/[0-9a-f]{32}[.](wacz-rest|zip)$",
                    )
                ),
                name="exports_named_as_ours",
            ),
        ),
    ]
