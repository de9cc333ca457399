from django.db import migrations, models
from django.db.models import Q


class Migration(migrations.Migration):
    dependencies = [
        ("crawling", "0037_certificates"),
    ]

    operations = [
        migrations.AddIndex(
            model_name="crawljob",
            index=models.Index(
                condition=Q(reuse__reuse_seconds__gt=0),
                fields=["id"],
                name="crawls_that_reuse_pages",
            ),
        ),
    ]
