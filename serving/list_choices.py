"""A user's choices for lists: rows per page, and hidden columns."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field

from django.http import HttpRequest


@dataclass(frozen=True)
class ListChoices:
    #: the rows on a page; 0 for the usual number of each list
    rows: int = 0
    #: the keys of the hidden columns, by the name of the list
    hidden: Mapping[str, Collection[str]] = field(default_factory=dict)

    def most(self, usual: int) -> int:
        """The rows on a page of a list, with its usual number."""
        return self.rows or usual

    def shown(
        self, name: str, columns: Iterable[str], usually_hidden: Collection[str] = ()
    ) -> list[str]:
        """The columns of a list that are not hidden, in their order. usually_hidden: those hidden
        for a user who has made no choice.
        """
        hidden = self.hidden.get(name, usually_hidden)
        return [key for key in columns if key not in hidden]


def choices_of(request: HttpRequest) -> ListChoices:
    """The choices that crawlsite's middleware has found; the usual ones if the user has made
    none.
    """
    return getattr(request, "list_choices", None) or ListChoices()
