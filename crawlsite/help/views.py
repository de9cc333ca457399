"""The pages of help."""

from __future__ import annotations

from django.http import Http404, HttpResponse
from django.shortcuts import render
from django.urls import reverse

from crawlsite.help.documents import DOCUMENTS
from crawlsite.help.documents import document as document_of
from serving.access import AuthenticatedRequest, authenticated


@authenticated(needs="")
def show(request: AuthenticatedRequest, document: str = "guide") -> HttpResponse:
    """Show a document of `docs/`: the guide, the glossary and others."""
    if document not in DOCUMENTS:
        raise Http404(f"There is no page of help named {document}.")
    tabs = [(one, _address(one), words) for one, words in DOCUMENTS.items()]
    here = {"name": document, "tabs": tabs, "document": document_of(document, _address)}
    return render(request, "help/document.html", here)


def _address(name: str) -> str:
    return reverse("help-document", args=[name])
