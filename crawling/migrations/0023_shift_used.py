from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("crawling", "0022_link_counts"),
    ]

    operations = [
        migrations.AddField(
            model_name="shift",
            name="used",
            field=models.JSONField(
                blank=True,
                default=dict,
                help_text="what it uses of each resource class, as it was last measured",
            ),
        ),
    ]
