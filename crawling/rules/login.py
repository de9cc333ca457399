"""Fill in a site's own form to log in, as a person would (SEEDS B14, JoBo)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import urlencode

from bs4 import BeautifulSoup, Tag

from crawling.rules.addresses import Address, BadUrl, read_address

#: their values go along only if somebody presses or chooses them
PRESSED = ("submit", "button", "image", "reset", "file")
CHOSEN = ("checkbox", "radio")


@dataclass(frozen=True, slots=True)
class Submission:
    """A form as it is sent: by POST if there is a body, else by GET."""

    address: Address
    body: bytes | None


def fill_in(page: bytes, charset: str | None, url: str, fields: Mapping[str, str]) -> Submission | None:
    """The page's first form that has all the fields, filled in; what it hides goes along as it is. None: there is no such form."""
    soup = BeautifulSoup(page, "html.parser", from_encoding=charset)
    for form in soup.find_all("form"):
        if set(fields) <= {control.get("name") for control in form.find_all(["input", "select", "textarea"])}:
            return _submission(form, url, fields)
    return None


def _submission(form: Tag, url: str, fields: Mapping[str, str]) -> Submission | None:
    values = {**_preset(form), **fields}
    try:
        address = read_address(str(form.get("action") or url), url)
        if str(form.get("method", "get")).lower() == "post":
            return Submission(address, urlencode(values).encode())
        return Submission(read_address(f"{address.url.partition('?')[0]}?{urlencode(values)}"), None)
    except BadUrl:
        return None


def _preset(form: Tag) -> dict[str, str]:
    """What the form's fields have before anybody fills them in."""
    values: dict[str, str] = {}
    for control in form.find_all(["input", "textarea"]):
        kind, name = str(control.get("type", "text")).lower(), control.get("name")
        if not name or kind in PRESSED or (kind in CHOSEN and not control.has_attr("checked")):
            continue
        values[str(name)] = control.get_text() if control.name == "textarea" else str(control.get("value", "on" if kind in CHOSEN else ""))
    for choice in form.find_all("select"):
        options = choice.find_all("option")
        chosen = next((option for option in options if option.has_attr("selected")), options[0] if options else None)
        if choice.get("name") and chosen:
            values[str(choice["name"])] = str(chosen.get("value", chosen.get_text()))
    return values
