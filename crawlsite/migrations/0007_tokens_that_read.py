from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("crawlsite", "0006_given_passwords"),
    ]

    operations = [
        migrations.AddField(
            model_name="apitoken",
            name="reads_only",
            field=models.BooleanField(
                db_default=False,
                default=False,
                help_text="whether it opens only what changes nothing",
            ),
        ),
    ]
