"""The page of what was deleted and can be restored."""

from __future__ import annotations

from django.contrib import messages
from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render

from crawling.dashboard.base.recently_deleted import (
    PERMISSIONS,
    deleted_rows,
    find_deleted,
    remove_for_good,
    restore,
)
from crawling.errors import NotFound, WrongState
from serving.access import AuthenticatedRequest, authenticated


@authenticated(needs="crawling.view_crawljob", methods=("GET", "HEAD"))
def deleted(request: AuthenticatedRequest) -> HttpResponse:
    """List it, with buttons for what the user may restore."""
    rows = [
        (row, request.user.has_perm(PERMISSIONS[row.kind])) for row in deleted_rows(request.user)
    ]
    return render(request, "crawling/deleted.html", {"rows": rows})


@authenticated(needs="crawling.view_crawljob", methods=("POST",))
def restore_deleted(request: AuthenticatedRequest, kind: str, pk: int) -> HttpResponse:
    """Restore it, or say why not."""
    try:
        name = restore(kind, pk, by=request.user)
    except NotFound as error:
        raise Http404(str(error)) from error
    except WrongState as error:
        messages.error(request, str(error))
    else:
        messages.success(request, f"{name} is restored.")
    return redirect("crawling:deleted")


@authenticated(needs="crawling.view_crawljob", methods=("GET", "HEAD", "POST"))
def remove_deleted(request: AuthenticatedRequest, kind: str, pk: int) -> HttpResponse:
    """Ask for the name, then delete it for good."""
    typed, error = request.POST.get("name", "").strip(), ""
    try:
        row = find_deleted(kind, pk, request.user)
        if request.method == "POST":
            remove_for_good(kind, pk, name=typed, by=request.user)
            messages.success(request, f"{row.name} is deleted for good.")
            return redirect("crawling:deleted")
    except NotFound as missing:
        raise Http404(str(missing)) from missing
    except WrongState as trouble:
        error = str(trouble)
    return render(
        request, "crawling/delete_for_good.html", {"row": row, "typed": typed, "error": error}
    )
