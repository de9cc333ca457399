"""The pages about the identity and about the addresses that crawls may fetch from, and the public
page about this crawler.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from django import forms
from django.conf import settings
from django.contrib import messages
from django.contrib.auth.models import User
from django.core.exceptions import ValidationError
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.views.decorators.http import require_GET

from crawling.installation.identity import (
    ACCESS_RULES,
    add_access_rule,
    full_contact,
    identity,
    remove_access_rule,
    set_identity,
)
from crawling.models import AllowedDirectory, AllowedNetwork, Identity, SharedNetwork, TrustedProxy
from serving.access import AuthenticatedRequest, authenticated, require

if TYPE_CHECKING:
    from crawling.installation.identity import AccessRule


class IdentityForm(forms.ModelForm):
    """The questions about the identity. `set_identity` decides which answers are valid."""

    class Meta:
        model = Identity
        fields = ("product_token", "contact_url", "purpose", "addresses")
        labels = {
            "product_token": "Crawler name",
            "contact_url": "Contact",
            "purpose": "Purpose",
            "addresses": "IP ranges",
        }
        help_texts = {
            "contact_url": "a page about your crawls (https://…) or an e-mail address, for site "
            "owners; every request carries it",
        }
        widgets = {
            "purpose": forms.Textarea(attrs={"rows": 3}),
            "addresses": forms.Textarea(attrs={"rows": 3, "spellcheck": "false"}),
        }

    def clean_contact_url(self) -> str:
        """An e-mail address is stored as the URL that requests carry."""
        return full_contact(self.cleaned_data["contact_url"])


class NetworkForm(forms.ModelForm):
    class Meta:
        model = AllowedNetwork
        fields = ("network", "port_from", "port_to", "note")


class DirectoryForm(forms.ModelForm):
    class Meta:
        model = AllowedDirectory
        fields = ("path", "note")


class SharedNetworkForm(forms.ModelForm):
    class Meta:
        model = SharedNetwork
        fields = ("network", "note")


class ProxyForm(forms.ModelForm):
    class Meta:
        model = TrustedProxy
        fields = ("host", "port", "note")


#: each form, by its name in the page, with the heading and the meaning of a row
RULE_FORMS: dict[str, tuple[type[forms.ModelForm], str, str]] = {
    "networks": (
        NetworkForm,
        "Allowed networks",
        "Addresses that are not public and may be crawled, such as an intranet.",
    ),
    "directories": (
        DirectoryForm,
        "Allowed directories",
        "Directories that file: URLs may name, on every machine with workers.",
    ),
    "proxies": (
        ProxyForm,
        "Trusted proxies",
        "Proxies that may fetch plain HTTP for crawls and choose the address themselves.",
    ),
    "shared": (
        SharedNetworkForm,
        "Shared networks",
        "Networks of CDNs: hosts there do not take turns at one address.",
    ),
}


@authenticated(needs="crawling.change_identity", methods=("GET", "HEAD", "POST"))
def identity_page(request: AuthenticatedRequest) -> HttpResponse:
    form = IdentityForm(request.POST or None, instance=identity())
    if request.method == "POST" and form.is_valid():
        try:
            set_identity(**form.cleaned_data, by=request.user)
        except ValidationError as error:
            form.add_error(None, error)
        else:
            messages.success(
                request,
                "The identity is saved. Running crawls use it from their next work session on.",
            )
            return redirect("administration:identity")
    facts = {"form": form, "who": identity(), "public_page": _public_page_url()}
    return render(request, "administration/identity.html", facts)


@authenticated(needs="crawling.change_allowednetwork", methods=("GET", "HEAD", "POST"))
def access_page(request: AuthenticatedRequest) -> HttpResponse:
    asked = request.POST.get("kind", "")
    if asked and asked not in RULE_FORMS:
        raise Http404
    bound = RULE_FORMS[asked][0](request.POST) if asked else None
    if bound is not None:
        _require_permission(request.user, "add", asked)
        if bound.is_valid():
            add_access_rule(bound.instance, by=request.user)
            messages.success(request, f"{bound.instance} is allowed from the next fetch on.")
            return redirect("administration:access")
    groups = [
        {
            "kind": kind,
            "title": title,
            "meaning": meaning,
            "rows": ACCESS_RULES[kind]._default_manager.order_by("pk"),
            "form": bound if kind == asked else form(auto_id=f"{kind}_%s"),
        }
        for kind, (form, title, meaning) in RULE_FORMS.items()
    ]
    return render(request, "administration/access.html", {"groups": groups})


@authenticated(needs="crawling.change_allowednetwork", methods=("POST",))
def remove_access(request: AuthenticatedRequest, kind: str, pk: int) -> HttpResponse:
    if kind not in RULE_FORMS:
        raise Http404
    _require_permission(request.user, "delete", kind)
    row = cast("AccessRule", get_object_or_404(ACCESS_RULES[kind], pk=pk))
    remove_access_rule(row, by=request.user)
    messages.success(request, f"{row} is no longer allowed.")
    return redirect("administration:access")


@require_GET
def about_this_crawler(request: HttpRequest) -> HttpResponse:
    """Show site owners, without a log-in, the operator of the crawler, its purpose and networks,
    and how to exclude it.
    """
    return render(request, "administration/crawler.html", {"who": identity()})


def _require_permission(user: User, verb: str, kind: str) -> None:
    require(user, f"crawling.{verb}_{ACCESS_RULES[kind]._meta.model_name}")


def _public_page_url() -> str:
    """The address of the page about this crawler; "" if the public address is not set."""
    return settings.PUBLIC_URL + reverse("about-crawler") if settings.PUBLIC_URL else ""
