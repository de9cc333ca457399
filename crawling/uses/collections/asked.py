"""The collection in the address of a request, and the facts for the heads of its pages."""

from __future__ import annotations

from typing import Any

from django.http import Http404

from crawling.base.errors import NotFound
from crawling.uses.collections.changes import get_collection, may_change
from crawling.uses.collections.models import Collection
from serving.access import AuthenticatedRequest

VIEW, CHANGE = "crawling.view_crawljob", "crawling.change_crawljob"


def collection_or_404(pk: int) -> Collection:
    """Raises Http404."""
    try:
        return get_collection(pk)
    except NotFound as error:
        raise Http404(str(error)) from error


def head_facts(request: AuthenticatedRequest, collection: Collection) -> dict[str, Any]:
    changes = request.user.has_perm(CHANGE) and may_change(request.user, collection)
    return {"collection": collection, "may_change": changes}
