"""Fill in a site's own form to log in, as a person would (SEEDS B14, JoBo)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import urlencode

import turbohtml

from crawling.web.addresses import Address, BadUrl, read_address

#: of a page with more forms the first are looked at; they may stand within each other
MOST_FORMS = 50


@dataclass(frozen=True, slots=True)
class Submission:
    """A form as it is sent: by POST if there is a body, else by GET."""

    address: Address
    body: bytes | None


def fill_in(document: turbohtml.Document, url: str, fields: Mapping[str, str]) -> Submission | None:
    """The page's first form that has all the fields, filled in; its others go along as they are.

    None: there is no such form.
    """
    for form in document.select("form")[:MOST_FORMS]:
        controls = form.select("input[name], select[name], textarea[name]")
        if set(fields) <= {_attribute(control, "name") for control in controls}:
            return _submission(form, url, fields)
    return None


def _submission(form: turbohtml.Element, url: str, fields: Mapping[str, str]) -> Submission | None:
    values = {**dict(form.form_data()), **fields}
    try:
        address = read_address(_attribute(form, "action") or url, url)
        if _attribute(form, "method").lower() == "post":
            return Submission(address, urlencode(values).encode())
        return Submission(
            read_address(f"{address.url.partition('?')[0]}?{urlencode(values)}"), None
        )
    except BadUrl:
        return None


def _attribute(element: turbohtml.Element, name: str) -> str:
    value = element.attrs.get(name) or ""
    return value if isinstance(value, str) else " ".join(value)
