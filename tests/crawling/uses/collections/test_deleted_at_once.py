"""A deleted collection that one user restores while another process deletes it permanently."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone

from crawling.base.errors import NotFound
from crawling.models.deleted import RESTORABLE
from crawling.uses.collections import restoring
from crawling.uses.collections.changes import CollectionFields, create_collection
from crawling.uses.collections.models import Collection
from tests.races.conftest import meanwhile, rival, until_waiting

__all__ = ["meanwhile", "rival"]

RESTORE = "UPDATE collections_collection SET removal_asked_at = NULL WHERE id = %s"


@pytest.fixture
def deleted(transactional_db):
    made = create_collection(CollectionFields("Town"), by=None)
    restoring.delete_collection(made, by=None)
    return made


def test_one_that_is_being_restored_is_not_deleted_permanently(deleted, rival, meanwhile):
    rival.execute(RESTORE, [deleted.pk])
    removal = meanwhile(restoring.remove_collection_now, number=deleted.pk, by=None)
    until_waiting(1)
    rival.commit()

    with pytest.raises(NotFound):
        removal.result()
    assert Collection.objects.filter(pk=deleted.pk).exists()


def test_one_that_is_restored_in_its_last_moment_is_not_forgotten(deleted, rival, meanwhile):
    long_ago = timezone.now() - RESTORABLE - timedelta(minutes=1)
    Collection.all_objects.update(removal_asked_at=long_ago)
    rival.execute(RESTORE, [deleted.pk])
    forgetting = meanwhile(restoring.forget_deleted_collections)
    until_waiting(1)
    rival.commit()

    forgetting.result()
    assert Collection.objects.filter(pk=deleted.pk).exists()


def test_one_that_is_being_deleted_permanently_is_not_restored(deleted, rival, meanwhile):
    rival.execute("DELETE FROM collections_collection WHERE id = %s", [deleted.pk])
    restored = meanwhile(restoring.restore_collection, number=deleted.pk, by=None)
    until_waiting(1)
    rival.commit()

    with pytest.raises(NotFound):
        restored.result()
