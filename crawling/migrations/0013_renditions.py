"""Pages say where the archive has what a browser made of them."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("crawling", "0012_rendered_pages")]

    operations = [
        migrations.AddField(
            "page",
            "rendition",
            models.JSONField(
                null=True,
                help_text="what the browser made of the page: `records`, the offset and length of "
                "each of its records in the page's archive file (dom, text, view, thumbnail), and "
                "what it noted: seconds, requests, bytes, memory_bytes, scrolls, console, failed; "
                "empty without a browser",
            ),
        ),
    ]
