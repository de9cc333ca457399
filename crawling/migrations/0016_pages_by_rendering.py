"""Lists and counts of pages by their rendering read only these."""

from django.db import migrations, models
from django.db.models import Q


class Migration(migrations.Migration):
    dependencies = [("crawling", "0015_pages_with_faults")]

    operations = [
        migrations.AddIndex(
            model_name="page",
            index=models.Index(
                condition=Q(("rendering__isnull", False)),
                fields=["run", "rendering"],
                name="pages_by_rendering",
            ),
        ),
        migrations.AddIndex(
            model_name="page",
            index=models.Index(
                condition=Q(
                    ("needs_browser", True),
                    Q(
                        ("rendering", None),
                        ("rendering__lt", 1),
                        ("rendering__gte", 20),
                        _connector="OR",
                    ),
                ),
                fields=["run", "fetched_at", "url"],
                name="pages_lacking_a_browser",
            ),
        ),
    ]
