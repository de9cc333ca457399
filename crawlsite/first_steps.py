"""The first steps of a new installation: they stand on the overview until they are done."""

from __future__ import annotations

from dataclasses import dataclass

from django.contrib.auth.models import User
from django.urls import reverse

from crawling.crawls.examples import own_crawls
from crawling.installation import identity
from crawling.models import Run


@dataclass(frozen=True)
class FirstStep:
    """Something to do, and where."""

    name: str
    sentence: str
    #: what its link says and where it leads
    link: str
    address: str
    is_done: bool = False


def first_steps(user: User) -> list[FirstStep]:
    """Open and finished steps; none once a crawl of one's own has fetched a page, and none for
    those who cannot create crawls.
    """
    if not user.has_perm("crawling.add_crawljob"):
        return []
    own = own_crawls()
    if Run.objects.filter(crawl__in=own, total__fetched__gt=0).exists():
        return []
    latest = own.order_by("-pk").first()
    contact = identity().contact_url
    return [
        FirstStep(
            "Say who you are",
            f"Every request names {contact}."
            if contact
            else "Every request names the crawler and a contact, so that site owners reach you.",
            "Set the identity",
            reverse("administration:identity"),
            bool(contact),
        ),
        FirstStep(
            "Create a crawl",
            "Enter a URL and choose Save and start. Every other field has a default.",
            "New crawl",
            reverse("crawling:new"),
            latest is not None,
        ),
        FirstStep(
            "Look at the result",
            "The page of the crawl shows what it fetches, what fails and why it waits.",
            "Open the crawl" if latest else "Open the crawls",
            reverse("crawling:crawl", args=[latest.pk]) if latest else reverse("crawling:crawls"),
        ),
    ]
