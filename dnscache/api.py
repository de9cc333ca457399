"""`/api/v1/dns/names`: what DNS said."""

# Annotations are not postponed here: ninja reads them, and could not resolve names behind Django's
# decorator.

from datetime import datetime
from typing import Annotated, Literal

from django.contrib.admin.models import DELETION, LogEntry
from django.db.models import QuerySet
from django.http import Http404
from ninja import Path, Query, Router, Status

from dnscache import services
from dnscache.models import DnsEntry
from dnscache.protocol.names import read_host
from dnscache.services import log_action
from serving.access import AuthenticatedRequest, needs
from serving.listing.endpoint import listed
from serving.listing.sources import QueryList
from serving.schemas import Schema

dns = Router()
TEXT = r"^[^\x00]*$"
Name = Annotated[
    str, Path(max_length=1000, description="a host name, in any spelling", examples=["example.org"])
]
EntryStatus = Annotated[
    Literal["", "ok", "nxdomain", "nodata", "servfail", "timeout"],
    Query(description="only answers of this kind"),
]


class DnsEntryOut(Schema):
    """A DNS answer. Each connection checks whether its address is allowed."""

    name: str
    status: str
    addresses: list[str]
    address_classes: list[str]
    canonical: str
    rcode: int | None
    ttl: int
    resolve_ms: int
    resolved_at: datetime
    expires_at: datetime
    retry_at: datetime | None
    fails: int
    upstream: str
    error: str


def entry_or_404(name: str) -> DnsEntry:
    """The entry of a name. Raises DnsCacheError for an invalid name, and Http404 for one that is
    not in the cache.
    """
    host = read_host(name).text
    entry = DnsEntry.objects.filter(name=host).first()
    if entry is None:
        raise Http404(f"{host} is not in the cache.")
    return entry


@listed(
    dns,
    "/names",
    QueryList(DnsEntryOut, key="name", goes_by_number=False, is_oldest_first=True, read=list),
    summary="List stored names",
    longest_key=253,
)
@needs("dnscache.view_dnsentry")
def list_dns_names(
    request: AuthenticatedRequest,
    status: EntryStatus = "",
    q: Annotated[str, Query(max_length=200, pattern=TEXT, description="a part of the name")] = "",
) -> QuerySet[DnsEntry]:
    found = DnsEntry.objects.filter(status=status) if status else DnsEntry.objects.all()
    return found.filter(name__contains=q) if q else found


@dns.get(
    "/names/{name}",
    response=DnsEntryOut,
    summary="Get a stored name, without a look-up",
)
@needs("dnscache.view_dnsentry")
def get_dns_name(request: AuthenticatedRequest, name: Name) -> DnsEntry:
    return entry_or_404(name)


@dns.delete(
    "/names/{name}",
    response={204: None},
    summary="Delete a stored name; it is looked up again when needed",
)
@needs("dnscache.delete_dnsentry")
def delete_dns_name(request: AuthenticatedRequest, name: Name) -> Status:
    entry = entry_or_404(name)
    LogEntry.objects.log_actions(request.user.pk, [entry], DELETION, "flushed", single_object=True)
    services.flush_names([entry.name])
    return Status(204, None)


@dns.post(
    "/names/{name}/{action}",
    response={204: None},
    summary="Retry a name, keep it fresh (pin), or let it expire (unpin)",
)
@needs("dnscache.change_dnsentry")
def apply_dns_name_action(
    request: AuthenticatedRequest,
    name: Name,
    action: Annotated[Literal["retry", "pin", "unpin"], Path(description="what to do")],
) -> Status:
    host = services.apply_action(name, action)
    log_action(request.user, [host], action)
    return Status(204, None)
