"""Messages about an action, with a button that undoes it.

The button contains the undoing acts, signed, so that nothing is stored for a message that the user
ignores. A message disappears when its crawl enters a state other than those that the message
expects.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.contrib import messages
from django.contrib.auth.models import User
from django.core import signing
from django.http import HttpRequest
from django.urls import reverse
from django.utils.html import format_html

from crawling.base.errors import WrongState
from crawling.models import DeletedItem
from crawling.models.deleted import RESTORABLE
from serving.access import AuthenticatedRequest

#: the salt of the signature; it contains the address that performs the acts, since no other address
#: can
SALT = "undo {}"
#: the message, the address, the acts and the label
BUTTON = '{} <button form="act" class="small" formaction="{}" name="acts" value="{}">{}</button>'


def show_message(
    request: AuthenticatedRequest,
    text: str,
    acts: Sequence[dict[str, Any]] = (),
    *,
    label: str = "Undo",
    address: str = "",
    level: int = messages.SUCCESS,
    about: tuple[int, Sequence[str]] | None = None,
) -> None:
    """Show a message on the next page.

    acts: the button's acts, as JSON. address: its target, if it has no acts. about: the id of the
    crawl, and the states in which the message is shown.
    """
    crawl, states = about or ("", ())
    told = format_html(
        '<span data-about="{}" data-while="{}">{}</span>', crawl, " ".join(states), text
    )
    if acts or address:
        address = address or reverse("crawling:undo")
        about_acts = [request.user.pk, list(acts)]
        signed = signing.dumps(about_acts, salt=SALT.format(address), compress=True)
        told = format_html(BUTTON, told, address, signed, label)
    messages.add_message(request, level, told)


def tell_deleted(request: AuthenticatedRequest, text: str, item: DeletedItem) -> None:
    """Show that a small item is deleted, with a button that restores it."""
    show_message(
        request, text, address=reverse("crawling:restore-deleted", args=[item.kind, item.pk])
    )


def acts_of(request: HttpRequest, user: User) -> list[dict[str, Any]]:
    """The acts of the pressed button. Raises WrongState if the button has expired, or belongs to
    another user or address.
    """
    signed, salt = request.POST.get("acts", ""), SALT.format(request.path)
    try:
        pk, acts = signing.loads(signed, salt=salt, max_age=RESTORABLE)
    except signing.BadSignature:
        pk, acts = None, []
    if pk != user.pk:
        raise WrongState("This can be undone no more.")
    found: list[dict[str, Any]] = acts
    return found
