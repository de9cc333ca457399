"""Who we say we are, as administrators set it."""

from __future__ import annotations

from django.contrib.auth.models import User
from django.db import transaction

from crawling.audit import note
from crawling.models import Identity


def identity() -> Identity:
    """The identity as it stands; one that says nothing yet until somebody sets it."""
    return Identity.objects.filter(pk=1).first() or Identity(pk=1)


@transaction.atomic
def set_identity(product_token: str, contact_url: str, *, by: User | None = None) -> Identity:
    """Say who crawls. Raises ValidationError with a message by field."""
    before = identity()
    row = Identity(pk=1, product_token=product_token, contact_url=contact_url)
    row.clean_fields()
    row.save()
    note(by, row, "changed", {"user_agent": (before.user_agent, row.user_agent)})
    return row
