"""Parts of the links dataset say when their pages were read a second time, and when the texts of
these were in the search index.
"""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("crawling", "0039_wacz_files"),
    ]

    operations = [
        migrations.AddField(
            model_name="linkspart",
            name="read_at",
            field=models.DateTimeField(
                help_text="when a second reading of its pages was stored", null=True
            ),
        ),
        migrations.AddField(
            model_name="linkspart",
            name="indexed_at",
            field=models.DateTimeField(
                help_text="when the texts of its pages were in the search index", null=True
            ),
        ),
        migrations.AddIndex(
            model_name="linkspart",
            index=models.Index(
                condition=models.Q(("indexed_at", None)),
                fields=["run"],
                name="links_parts_unindexed",
            ),
        ),
    ]
