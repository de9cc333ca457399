"""Imports of WARC and WACZ files: a list, and a form that requests an import."""

from __future__ import annotations

from django.conf import settings
from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect
from django.urls import path

from crawling.dashboard.base.requests import latest_asked
from crawling.dashboard.base.trouble import mistakes_kept
from crawling.installation.permissions import may_end
from crawling.uses.imports.import_jobs import offered_files, request_import
from crawling.uses.imports.importing import faults_in_words
from crawling.uses.imports.jobs import ArchiveImport, requested_imports
from serving.access import AuthenticatedRequest, authenticated, needs
from serving.requests import asked_text, render_live

SHOWN = 50


@authenticated(needs="crawling.view_crawljob", methods=("GET", "HEAD", "POST"))
def imports_page(request: AuthenticatedRequest) -> HttpResponse:
    errors: dict[str, str] = {}
    if request.method == "POST":
        errors = _request_import(request)
        if not errors:
            return redirect("crawling:imports")
    here = latest_asked(request, requested_imports(), SHOWN)
    may_import = request.user.has_perm("crawling.add_crawljob")
    here |= {
        "rows": [
            (
                row,
                faults_in_words(row.left_out, row.remarks),
                may_import and may_end(request.user, job.by),
            )
            for job, row in ((job, ArchiveImport.from_job(job)) for job in here["rows"])
        ],
        "offered": offered_files(),
        "place": settings.IMPORT_DIR,
        "errors": errors,
        "chosen": request.POST.getlist("files"),
        "name": asked_text(request.POST, "name"),
    }
    by_user = any(may_cancel for _, _, may_cancel in here["rows"])
    return render_live(
        request, "imports/imports.html", "imports/_imports.html", here, depends_on_user=by_user
    )


@needs("crawling.add_crawljob")
def _request_import(request: AuthenticatedRequest) -> dict[str, str]:
    """Request an import. Return the mistakes by field; empty if it is requested."""
    files, name = request.POST.getlist("files"), request.POST.get("name", "")
    errors: dict[str, str] = {}
    with mistakes_kept(errors):
        asked = ArchiveImport.from_job(request_import(files, name, by=request.user))
        messages.success(request, f"A background job imports {', '.join(asked.files)}.")
    return errors


urlpatterns = [
    path("imports/", imports_page, name="imports"),
]
