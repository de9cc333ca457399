"""Extractors: they are saved, edited, deleted and restored, and the crawls that use them are found.
An order stores the rules of the revision with which it was saved. An edit creates a new revision,
and changes no crawl.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated

from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone
from pydantic import TypeAdapter, ValidationError

from crawling.base.audit import record_action
from crawling.base.errors import BadOrder, CrawlError, NotFound, WrongState
from crawling.installation.permissions import crawls_within_reach, is_restricted
from crawling.models import CrawlJob
from crawling.models.deleted import RESTORABLE
from crawling.orders.sections.reading import REVISION_MARK, Name, read_reference
from crawling.runs.crawls.extractor_rules import ExtractorRules
from crawling.runs.crawls.revisions import edit_crawl
from crawling.uses.extraction.models import Extractor, ExtractorRevision
from crawling.uses.extraction.rule_previews import checked_rules
from serving.listing.columns import Column

#: the most extractors of an installation
MOST = 1_000
#: the most crawls that get a revision by one action
MOST_CRAWLS = 200


@dataclass(frozen=True)
class ExtractorRow:
    id: int
    name: str
    revision: Annotated[int, Column("the newest; each edit makes the next")]
    rules: Annotated[dict[str, str], Column("CSS selectors by the names of fields")]
    crawls: Annotated[int, Column("whose orders have its rules, of whatever revision")]
    older: Annotated[int, Column("of them, those that have rules of an older revision")]
    owner: Annotated[str, Column("the user who edits and deletes it; empty: the command line")]
    changed_at: datetime

    @property
    def reference(self) -> str:
        return f"{self.name}{REVISION_MARK}{self.revision}"


def extractors() -> QuerySet[Extractor]:
    return Extractor.objects.select_related("created_by").filter(removed_at=None)


def extractor_rows(found: list[Extractor]) -> list[ExtractorRow]:
    """Rows for a list, with the crawls that use each extractor."""
    used, older = Counter[str](), Counter[str]()
    newest = {one.name: one.revision for one in found}
    orders = CrawlJob.objects.exclude(extractor="").values_list("extractor", flat=True)
    for reference in orders.iterator():
        name, revision = read_reference(reference)
        used[name] += 1
        older[name] += revision != newest.get(name)
    return [
        ExtractorRow(
            one.pk,
            one.name,
            one.revision,
            dict(one.rules),
            used[one.name],
            older[one.name],
            one.created_by.username if one.created_by else "",
            one.changed_at,
        )
        for one in found
    ]


def find_extractor(number: int) -> Extractor:
    """Raises NotFound."""
    found = extractors().filter(pk=number).first()
    if found is None:
        raise NotFound(f"There is no extractor {number}.")
    return found


def extractor_named(name: str) -> Extractor:
    """Raises NotFound."""
    found = extractors().filter(name=name.strip()).first()
    if found is None:
        raise NotFound(f"There is no extractor {name.strip()!r}.")
    return found


def crawls_of(extractor: Extractor) -> QuerySet[CrawlJob]:
    """The crawls whose orders have rules of the extractor, of any revision."""
    return CrawlJob.objects.filter(extractor__startswith=f"{extractor.name}{REVISION_MARK}")


def save_extractor(name: str, rules: Mapping[str, str], *, by: User | None) -> Extractor:
    """Save rules under a name. If a deleted extractor has this name and the user may restore it, it
    is restored, and the rules become its next revision. Raises BadOrder.
    """
    try:
        name = TypeAdapter(Name).validate_python(name.strip())
    except ValidationError as error:
        raise BadOrder({"name": "must be one line of 1 to 100 characters"}) from error
    if REVISION_MARK in name:
        raise BadOrder(
            {"name": f"must not contain {REVISION_MARK}, which stands before a revision"}
        )
    rules = checked_rules(rules)
    with transaction.atomic():
        if extractors().count() >= MOST:
            raise BadOrder({"name": f"there are {MOST:,} extractors; delete one first"})
        made, is_new = Extractor.objects.get_or_create(
            name=name, defaults={"rules": rules, "created_by": by}
        )
        if is_new:
            ExtractorRevision.objects.create(extractor=made, number=1, rules=rules, by=by)
            record_action(by, made, "created", {"rules": (None, rules)})
            return made
        made = Extractor.objects.select_for_update().get(pk=made.pk)
        if made.removed_at is None:
            told = f"there is an extractor named {name!r} already; edit it, or choose another name"
            raise BadOrder({"name": told})
        if not may_edit(made, by):
            told = (
                f"{made.created_by} has deleted an extractor of this name and may restore it; "
                "choose another name, or ask that user or an administrator"
            )
            raise BadOrder({"name": told})
        made.removed_at, made.created_by = None, by
        return _save_revision(made, rules, by, "created")


def edit_extractor(
    extractor: Extractor,
    rules: Mapping[str, str],
    *,
    by: User | None,
    revision: int | None = None,
) -> Extractor:
    """Save rules as the next revision, unless they are unchanged. Crawls keep their rules.

    revision: the revision on which the edit was based. Raises BadOrder, NotFound, PermissionDenied,
    and WrongState if it is no longer the newest revision.
    """
    rules = checked_rules(rules)
    require_edit(extractor, by)
    with transaction.atomic():
        edited = Extractor.objects.select_for_update().filter(pk=extractor.pk, removed_at=None)
        one = edited.first()
        if one is None:
            raise NotFound(f"{extractor.name} was deleted meanwhile.")
        if revision is not None and revision != one.revision:
            raise WrongState(
                f"{one.name} was edited meanwhile: revision {one.revision} is the newest. Look at "
                "it, then edit again."
            )
        return one if one.rules == rules else _save_revision(one, rules, by, "edited")


def _save_revision(one: Extractor, rules: dict[str, str], by: User | None, act: str) -> Extractor:
    """Save a revision, in the transaction that has locked the extractor."""
    record_action(by, one, act, {"rules": (one.rules, rules)})
    one.rules, one.revision, one.changed_at = rules, one.revision + 1, timezone.now()
    one.save()
    ExtractorRevision.objects.create(extractor=one, number=one.revision, rules=rules, by=by)
    return one


@transaction.atomic
def remove_extractor(extractor: Extractor, *, by: User | None) -> None:
    """Delete an extractor. Crawls keep its rules. Raises PermissionDenied."""
    require_edit(extractor, by)
    Extractor.objects.filter(pk=extractor.pk).update(removed_at=timezone.now())
    record_action(by, extractor, "deleted", {"rules": (extractor.rules, None)})


@transaction.atomic
def restore_extractor(number: int, *, by: User | None) -> Extractor:
    """Restore a deleted extractor unchanged. Raises NotFound or PermissionDenied."""
    found = Extractor.objects.exclude(removed_at=None).filter(pk=number).first()
    if found is None:
        raise NotFound("The extractor is not deleted.")
    require_edit(found, by)
    found.removed_at = None
    found.save(update_fields=["removed_at"])
    record_action(by, found, "restored")
    return found


def removed_extractors() -> QuerySet[Extractor]:
    """The extractors that were deleted in the last day, the latest first."""
    since = timezone.now() - RESTORABLE
    found = Extractor.objects.filter(removed_at__gt=since)
    return found.select_related("created_by").order_by("-removed_at")


def may_edit(extractor: Extractor, by: User | None) -> bool:
    """Whether a user whose role permits edits of extractors may edit and delete this one."""
    return extractor.created_by in (None, by) or not is_restricted(by)


def require_edit(extractor: Extractor, by: User | None) -> None:
    """Raises PermissionDenied."""
    if not may_edit(extractor, by):
        raise PermissionDenied(
            f"{extractor.created_by} made the extractor {extractor.name}: its maker edits and "
            "deletes it, or an administrator."
        )


def give_newest(extractor: Extractor, *, by: User | None) -> tuple[int, list[str]]:
    """Give the newest revision to crawls with rules of an older one, MOST_CRAWLS at a time. Crawls
    on which the user may not act are left out. Return the number of crawls that got the revision,
    and a sentence for each crawl that could not be edited.
    """
    mine = (
        crawls_of(extractor).filter(crawls_within_reach(by)).exclude(extractor=extractor.reference)
    )
    done, refused, behind = 0, list[str](), 0
    while done < MOST_CRAWLS and (
        some := mine.filter(pk__gt=behind).order_by("pk")[: MOST_CRAWLS - done]
    ):
        for crawl in some:
            behind = crawl.pk
            try:
                edit_crawl(crawl, {"extractor": extractor.name}, by=by)
                done += 1
            except CrawlError as error:
                refused.append(f"{crawl.name}: {error}")
    return done, refused


def _rules_of_revision(one: Extractor) -> ExtractorRules:
    return ExtractorRules(one.name, one.revision, one.rules)


def newest_rules() -> list[ExtractorRules]:
    return [_rules_of_revision(one) for one in extractors()]


def find_rules(name: str, revision: int | None) -> ExtractorRules | None:
    if revision is None:
        one = extractors().filter(name=name).first()
        return _rules_of_revision(one) if one else None
    found = ExtractorRevision.objects.select_related("extractor")
    row = found.filter(extractor__name=name, number=revision).first()
    return ExtractorRules(name, revision, row.rules) if row else None


def save_rules(name: str, rules: Mapping[str, str], by: User | None) -> ExtractorRules:
    return _rules_of_revision(save_extractor(name, rules, by=by))
