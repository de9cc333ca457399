"""The questions of a crawl's form about how it asks."""

from __future__ import annotations

from typing import Any

from django import forms

from crawling.crawls.fetching_section import shown
from crawling.models import CrawlJob
from crawling.orders.sections.fetching import FetchingPart
from crawling.web.secret_headers import MASK

#: form field -> what stands between the two halves of a line
TABLES = {"headers": ":", "credentials": " ", "login_fields": "=", "posts": " "}
SECONDS = ("connect_seconds", "first_byte_seconds", "read_seconds", "document_seconds")
TEXTS = ("proxy", "login_url", *SECONDS)


def _lines(label: str, help_text: str, *, rows: int = 2) -> forms.CharField:
    widget = forms.Textarea(
        attrs={"rows": rows, "spellcheck": "false", "autocapitalize": "off", "autocomplete": "off"}
    )
    return forms.CharField(
        label=label, help_text=help_text, required=False, strip=False, widget=widget
    )


def _text(label: str, help_text: str, *, initial: str = "") -> forms.CharField:
    widget = forms.TextInput(
        attrs={"autocomplete": "off", "spellcheck": "false", "autocapitalize": "off"}
    )
    return forms.CharField(
        label=label,
        help_text=help_text,
        initial=initial,
        required=False,
        max_length=4096,
        widget=widget,
    )


def _seconds(name: str, label: str, help_text: str) -> forms.CharField:
    return _text(label, help_text, initial=f"{FetchingPart.model_fields[name].default:g}")


class FetchingForm(forms.Form):
    """What stands behind `Headers, cookies, log-in, proxy and time limits` on the form.

    Secrets are typed, and never shown again.
    """

    headers = _lines(
        "Headers",
        "One a line, like Accept-Language: de. All but a few harmless ones go to the hosts of "
        "the addresses above only.",
    )
    cookies = forms.BooleanField(
        label="Keep cookies",
        required=False,
        help_text="Each host's own, for one run; off, none is ever sent.",
    )
    credentials = _lines(
        "User names and passwords",
        "One host a line, like example.org user:password; given when the host asks (Basic or "
        "Digest).",
    )
    login_url = _text(
        "Page with a form to log in", "Filled in before the first page of its host, once a shift."
    )
    login_fields = _lines(
        "…and what to fill in", "One field a line, by its name in the form, like user=me."
    )
    posts = _lines(
        "Addresses to post to",
        "One a line: the address, a space, and what is posted, "
        "like https://example.org/search q=books. It is not shown again; the archive has it as "
        "it was sent.",
    )
    proxy = _text(
        "Proxy", "socks5://user:password@host:port or http://host:port; everything goes through it."
    )
    connect_seconds = _seconds("connect_seconds", "Connecting", "TLS included.")
    first_byte_seconds = _seconds("first_byte_seconds", "First byte", "From the request on.")
    read_seconds = _seconds("read_seconds", "Next piece", "From the piece before.")
    document_seconds = _seconds("document_seconds", "Whole document", "All its waits together.")

    def fetching(self) -> dict[str, Any]:
        """The order's fields of this part, unchecked; what was left empty is left out."""
        answers = self.cleaned_data
        fields: dict[str, Any] = {
            name: text for name in TEXTS if (text := answers.get(name, "").strip())
        }
        if answers.get("cookies"):
            fields["cookies"] = True
        for name, mark in TABLES.items():
            halves = [
                line.strip().partition(mark)
                for line in answers.get(name, "").splitlines()
                if line.strip()
            ]
            if halves:
                fields[name] = {first.strip(): second.strip() for first, _, second in halves}
        return fields


def fetching_answers(crawl: CrawlJob, *, masked: bool = False) -> dict[str, Any]:
    """What this part of the form would have been filled in with for a crawl like this one, without
    its secrets, or with their masks.
    """
    fields = shown(crawl)
    answers: dict[str, Any] = {name: f"{fields[name]:g}" for name in SECONDS}
    answers |= {"cookies": "on"} if fields["cookies"] else {}
    answers |= {
        name: fields[name]
        for name in ("login_url", "proxy")
        if fields[name] and (masked or MASK not in fields[name])
    }
    for name, mark in TABLES.items():
        answers[name] = "\n".join(
            f"{first}{mark}{'' if mark == ' ' else ' '}{second}"
            for first, second in fields[name].items()
            if masked or MASK not in second
        )
    return answers
