"""What is posted and what signs webhooks is sealed, as other secrets are."""

from collections.abc import Mapping
from typing import Any

from django.db import migrations, models

from crawling.rules.secrets import MASK
from crawling.sealing import SealBroken, seal, unseal


def with_sealed_bodies(fetching: Mapping[str, Any]) -> dict[str, Any]:
    """A crawl's column with what it posts among its secrets. Raises SealBroken."""
    secrets = unseal(fetching["sealed"]) if "sealed" in fetching else {}
    posts = fetching["posts"]
    masked = {**fetching, "posts": dict.fromkeys(posts, MASK)}
    return {**masked, "sealed": seal({**secrets, "posts": posts})}


def seal_bodies(apps: Any, schema_editor: Any) -> None:
    """Beside secrets that this SECRET_KEY can't open they stay in clear, as nothing can be added."""
    crawls = apps.get_model("crawling", "CrawlJob").objects
    posting = crawls.filter(fetching__has_key="posts").exclude(fetching__posts={})
    for crawl in posting.only("fetching").iterator():
        try:
            fetching = with_sealed_bodies(crawl.fetching)
        except SealBroken:
            continue
        crawls.filter(pk=crawl.pk).update(fetching=fetching)
    templates = apps.get_model("crawling", "OrderTemplate").objects
    for template in templates.filter(order__has_key="posts").iterator():
        template.order.pop("posts")
        template.save(update_fields=["order"])


def seal_secrets(apps: Any, schema_editor: Any) -> None:
    for listener in apps.get_model("crawling", "Listener").objects.all():
        listener.sealed = seal(listener.secret)
        listener.save(update_fields=["sealed"])


class Migration(migrations.Migration):
    dependencies = [("crawling", "0050_read_in_part")]

    operations = [
        migrations.RunPython(seal_bodies),
        migrations.AddField(
            "listener",
            "sealed",
            models.TextField(default="", help_text="its secret, by `crawling.sealing`"),
            preserve_default=False,
        ),
        migrations.RunPython(seal_secrets),
        migrations.RemoveField("listener", "secret"),
    ]
