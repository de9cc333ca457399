from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("crawling", "0057_unended_readings"),
    ]

    operations = [
        migrations.AddField(
            model_name="linkspart",
            name="nu_asked_at",
            field=models.DateTimeField(
                help_text="since when its pages are to be read by the Nu checker", null=True
            ),
        ),
        migrations.AddField(
            model_name="linkspart",
            name="nu_read_at",
            field=models.DateTimeField(
                help_text="when the messages of the Nu checker were stored", null=True
            ),
        ),
        migrations.AddIndex(
            model_name="linkspart",
            index=models.Index(
                condition=models.Q(("nu_asked_at__isnull", False), ("nu_read_at", None)),
                fields=["run"],
                name="links_parts_unread_by_nu",
            ),
        ),
    ]
