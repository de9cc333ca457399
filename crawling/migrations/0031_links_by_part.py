"""An index for the pages of a part of the links dataset. Parts get more columns: those that are
written are read again from the archive.
"""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("crawling", "0030_list_indexes"),
    ]

    operations = [
        migrations.AddIndex(
            model_name="page",
            index=models.Index(
                condition=models.Q(("links_part__isnull", False)),
                fields=["links_part"],
                name="pages_by_links_part",
            ),
        ),
        migrations.RunSQL(
            "UPDATE crawling_linkspart SET collected_at = NULL, written_at = NULL "
            "WHERE written_at IS NOT NULL",
            migrations.RunSQL.noop,
        ),
    ]
