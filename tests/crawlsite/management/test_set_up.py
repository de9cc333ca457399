"""The promises of every start."""

from __future__ import annotations

from django.core.management import call_command

from allocation.models import Pool
from allocation.services import create_pool
from crawling.installation.pools import default_classes


def test_a_pool_from_before_a_class_came_gets_it_at_the_next_start(db, settings):
    settings.DEMO = False
    classes = default_classes(settings.WORKERS)
    create_pool(name="default", classes=classes[:5])

    call_command("set_up")
    call_command("set_up")

    pool = Pool.objects.get()
    assert list(pool.classes.values_list("key", flat=True)) == [new.key for new in classes]
    assert pool.capacity == pool.available == [new.capacity for new in classes]
