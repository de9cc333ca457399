from django.db import migrations, models
from django.db.models import Q


class Migration(migrations.Migration):
    dependencies = [
        ("crawling", "0036_addresses_of_seeds"),
    ]

    operations = [
        migrations.AddField(
            model_name="hostqueue",
            name="certificate_ends_at",
            field=models.DateTimeField(
                help_text="of those met at the last visit the first to end; empty: none was met",
                null=True,
            ),
        ),
        migrations.AddIndex(
            model_name="hostqueue",
            index=models.Index(
                condition=Q(certificate_ends_at__isnull=False),
                fields=["run", "certificate_ends_at"],
                name="queues_by_certificate",
            ),
        ),
    ]
