"""The submission of forms (HTML Standard, section 4.10.22)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from secrets import token_hex
from typing import NamedTuple
from unicodedata import bidirectional
from urllib.parse import quote

from crawling.web.addresses import WEB, Address, read_address
from crawling.web.content.encodings import encode_with_references, encoding_name, output_encoding
from crawling.web.forms.controls import Control, Form, FormPage

URLENCODED = "application/x-www-form-urlencoded"
MULTIPART = "multipart/form-data"
PLAIN = "text/plain"
#: controls that send the direction of their text
WITH_DIRECTION = frozenset(
    {"hidden", "text", "search", "tel", "url", "email", "password", "submit", "textarea"}
)
#: escapes in the name of a field of multipart/form-data
ESCAPES = str.maketrans({"\n": "%0A", "\r": "%0D", '"': "%22"})


@dataclass(frozen=True, slots=True)
class Submission:
    """The data of a sent form: a POST request if there is a body, else a GET request."""

    address: Address
    body: bytes | None
    content_type: str = ""


class Entry(NamedTuple):
    name: str
    value: str
    #: whether this is a file control, which is sent as an empty file, since none is chosen
    is_file: bool = False


class NotSent(ValueError):
    """The form leads to no request; the message says why."""


def default_button(form: Form) -> Control | None:
    """The first button that sends the form. A disabled button does not count."""
    return next(
        (control for control in form.controls if control.is_submitter and not control.is_disabled),
        None,
    )


def submit_form(
    form: Form, page: FormPage, button: Control | None, more: Sequence[Entry] = ()
) -> Submission:
    """Send a form by one of its buttons, or by none. more: entries besides those of its controls.

    Raises NotSent, or BadUrl for an action that is not a URL.
    """
    encoding = _form_encoding(form, page)
    entries = [
        *(
            entry
            for control in form.controls
            for entry in _entries_of_control(control, button, encoding)
        ),
        *more,
    ]
    action = _stated_attribute(form, button, "action")
    address = read_address(action, page.base) if action else read_address(page.url)
    if address.scheme not in WEB:
        raise NotSent(f"its form is sent by {address.scheme}, which takes no forms")
    match _stated_attribute(form, button, "method").lower():
        case "post":
            kind = _stated_attribute(form, button, "enctype").lower()
            content_type, body = _request_body(kind, entries, encoding)
            return Submission(address, body, content_type)
        case "dialog":
            raise NotSent("its form only closes a dialog")
    query = _urlencoded_body(entries, encoding).decode()
    return Submission(read_address(f"{address.url.partition('?')[0]}?{query}"), None)


def _stated_attribute(form: Form, button: Control | None, name: str) -> str:
    """An attribute of the request, as the button states it, or else the form."""
    said = button.element.attr(f"form{name}") if button else None
    return (form.element.attr(name) or "" if said is None else said).strip("\t\n\f\r ")


def _form_encoding(form: Form, page: FormPage) -> str:
    """The encoding that the form states, or else the page's (pick an encoding for the form)."""
    asked = form.element.attr("accept-charset")
    if asked is None:
        name = page.encoding
    else:
        name = next(filter(None, map(encoding_name, asked.split())), "UTF-8")
    return output_encoding(name)


def _entries_of_control(control: Control, button: Control | None, encoding: str) -> Iterator[Entry]:
    """The entries that a control sends (section 4.10.22.4, constructing the entry list)."""
    if control.is_disabled or (control.is_button and control is not button):
        return
    if control.name or control.kind == "image":
        is_file = control.kind == "file"
        yield from (Entry(*entry, is_file) for entry in _submitted_values(control, encoding))
        written = control.element.attr("dirname")
        if written and control.kind in WITH_DIRECTION:
            yield Entry(written, _text_direction(control))


def _submitted_values(control: Control, encoding: str) -> Iterator[tuple[str, str]]:
    name = control.name
    match control.kind:
        case "image":  # as if pressed at its corner
            yield from ((f"{name}.{axis}" if name else axis, "0") for axis in "xy")
        case "select":
            for option in control.options:
                if option.is_selected and not option.is_disabled:
                    yield name, option.value
        case "checkbox" | "radio":
            if control.is_checked:
                value = control.element.attr("value")
                yield name, "on" if value is None else value
        case "hidden" if name.lower() == "_charset_":
            yield name, encoding
        case _:
            yield name, control.value


def _text_direction(control: Control) -> str:
    """The direction in which the text of a control is written (section 3.2.6.4)."""
    around = control.element.closest("[dir]")
    said = (around.attr("dir") or "").lower() if around else ""
    if around == control.element and said == "auto":
        strong = (bidirectional(mark) for mark in control.value)
        said = next(("rtl" for kind in strong if kind in ("R", "AL")), "ltr")
    return "rtl" if said == "rtl" else "ltr"


def _request_body(kind: str, entries: Sequence[Entry], encoding: str) -> tuple[str, bytes]:
    if kind == MULTIPART:
        boundary = f"----formdata{token_hex(12)}"
        return f"{MULTIPART}; boundary={boundary}", _multipart_body(entries, encoding, boundary)
    if kind == PLAIN:
        lines = (f"{_crlf_lines(name)}={_crlf_lines(value)}\r\n" for name, value, _ in entries)
        return PLAIN, _encode_text("".join(lines), encoding)
    return URLENCODED, _urlencoded_body(entries, encoding)


def _urlencoded_body(entries: Sequence[Entry], encoding: str) -> bytes:
    """application/x-www-form-urlencoded (URL Standard, section 5.2)."""
    return "&".join(
        f"{_percent_encode(name, encoding)}={_percent_encode(value, encoding)}"
        for name, value, _ in entries
    ).encode()


def _percent_encode(text: str, encoding: str) -> str:
    written = quote(_encode_text(_crlf_lines(text), encoding), safe=" *")
    return written.replace("~", "%7E").replace(" ", "+")


def _multipart_body(entries: Sequence[Entry], encoding: str, boundary: str) -> bytes:
    """multipart/form-data (RFC 7578, with the names as section 4.10.22.8 writes them)."""
    parts: list[bytes] = []
    for name, value, is_file in entries:
        head = f'--{boundary}\r\nContent-Disposition: form-data; name="{_escape_name(name)}"'
        head += '; filename=""\r\nContent-Type: application/octet-stream' if is_file else ""
        parts.append(_encode_text(f"{head}\r\n\r\n{_crlf_lines(value)}\r\n", encoding))
    return b"".join([*parts, f"--{boundary}--\r\n".encode()])


def _escape_name(name: str) -> str:
    return _crlf_lines(name).translate(ESCAPES)


def _crlf_lines(text: str) -> str:
    """The text with line ends as forms send them."""
    return "\r\n".join(text.replace("\r\n", "\n").replace("\r", "\n").split("\n"))


def _encode_text(text: str, encoding: str) -> bytes:
    """The text in the encoding. A character that the encoding lacks becomes a numeric reference
    (Encoding Standard, 6.1).
    """
    return encode_with_references(text, encoding_name(encoding) or encoding)
