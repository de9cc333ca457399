"""The events of alerts, their words, their bodies, their signature, and the times of retries. Pure.

A body has the facts as JSON, or is a message for a chat: Slack's incoming webhooks accept `text`,
Teams' workflows an adaptive card, and Matrix's generic webhooks (matrix-hookshot) `text` together
with `html`.
"""

from __future__ import annotations

import hmac
import json
import re
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta
from enum import StrEnum
from hashlib import sha256
from html import escape
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from crawling.base.alert_events import AlertEvent
from crawling.orders.fields import ONE_LINE
from crawling.orders.sentences import sentence_for
from crawling.web.addresses import WEB, BadUrl, read_address

Facts = Mapping[str, Any]
#: the characters with a meaning in Slack's markup, and their escape sequences
SLACK_ESCAPES = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;"})
#: the waits after each failure; a delivery that fails after the last wait is given up
WAITS = tuple(timedelta(minutes=minutes) for minutes in (1, 5, 30, 120, 720))

MAILTO = "mailto:"
#: one address as SMTP accepts it without quotes; the mail server checks the rest
MAILBOX = re.compile(r"[A-Za-z0-9!#$%&'*+/=?^_`{|}~.-]{1,64}@[A-Za-z0-9.-]{1,253}")


class MessageFormat(StrEnum):
    JSON = "json"
    SLACK = "slack"
    TEAMS = "teams"
    MATRIX = "matrix"


def body_of(format_: str, facts_json: str) -> bytes:
    """The body of a delivery. Facts as JSON are sent unchanged, byte for byte."""
    shape = SHAPES.get(MessageFormat(format_))
    if shape is None:
        return facts_json.encode()
    return json.dumps(shape(json.loads(facts_json)), ensure_ascii=False).encode()


def subject_of(facts: Facts) -> str:
    what = str(facts["name"])
    if "run" in facts:
        what += f", run {facts['run']}"
    elif "pool" in facts:
        what = f"pool {what}"
    return " ".join(f"{facts['event']}: {what}".split())


def slack_message(facts: Facts) -> dict[str, Any]:
    """A subject in bold, the sentence, and a link to the page. Names cannot add markup or
    mentions.
    """
    lines = [f"*{_escaped_for_slack(subject_of(facts))}*", _escaped_for_slack(facts["sentence"])]
    for line in lines_of(facts):
        text = _escaped_for_slack(line["text"])
        lines.append(f"<{_escaped_for_slack(line['page'])}|{text}>" if "page" in line else text)
    if "diff" in facts:
        lines.append("```" + _escaped_for_slack(facts["diff"]).replace("```", "'''") + "```")
    if "page" in facts:
        lines.append(f"<{_escaped_for_slack(facts['page'])}|Open the page>")
    return {"text": "\n".join(lines)}


def teams_message(facts: Facts) -> dict[str, Any]:
    """One adaptive card. Its texts are plain, so nothing in them is markup."""
    card: dict[str, Any] = {
        "$schema": "http://adaptivecards.io/schemas/adaptive-card.json",
        "type": "AdaptiveCard",
        "version": "1.4",
        "body": [
            _teams_text(subject_of(facts), weight="Bolder"),
            _teams_text(str(facts["sentence"])),
            *(_teams_text(line_as_text(line)) for line in lines_of(facts)),
            *(
                _teams_text(line, fontType="Monospace")
                for line in str(facts.get("diff", "")).splitlines()
            ),
        ],
    }
    if "page" in facts:
        card["actions"] = [
            {"type": "Action.OpenUrl", "title": "Open the page", "url": facts["page"]}
        ]
    content_type = "application/vnd.microsoft.card.adaptive"
    return {"type": "message", "attachments": [{"contentType": content_type, "content": card}]}


def matrix_message(facts: Facts) -> dict[str, Any]:
    """The text twice, for clients that show HTML and for clients that do not."""
    subject, sentence = subject_of(facts), str(facts["sentence"])
    text, html = [subject, sentence], f"<b>{escape(subject)}</b><br>{escape(sentence)}"
    for line in lines_of(facts):
        text.append(line_as_text(line))
        html += f"<br>{_matrix_line(line)}"
    if "diff" in facts:
        text.append(facts["diff"])
        html += f"<pre>{escape(facts['diff'])}</pre>"
    if "page" in facts:
        text.append(facts["page"])
        html += f'<br><a href="{escape(facts["page"])}">Open the page</a>'
    return {"text": "\n".join(text), "html": html}


def lines_of(facts: Facts) -> Sequence[Mapping[str, str]]:
    """The lines of a summary. Each has a text and the path of its page."""
    lines: Sequence[Mapping[str, str]] = facts.get("lines", ())
    return lines


def line_as_text(line: Mapping[str, str]) -> str:
    """The line as plain text."""
    return f"{line['text']}: {line['page']}" if "page" in line else line["text"]


def _matrix_line(line: Mapping[str, str]) -> str:
    text = escape(line["text"])
    return f'<a href="{escape(line["page"])}">{text}</a>' if "page" in line else text


def _escaped_for_slack(text: str) -> str:
    return text.translate(SLACK_ESCAPES)


def _teams_text(text: str, **style: str) -> dict[str, Any]:
    return {"type": "RichTextBlock", "inlines": [{"type": "TextRun", "text": text, **style}]}


SHAPES: Mapping[MessageFormat, Callable[[Facts], dict[str, Any]]] = {
    MessageFormat.SLACK: slack_message,
    MessageFormat.TEAMS: teams_message,
    MessageFormat.MATRIX: matrix_message,
}


#: the event of a delivery by which an administrator tests whether deliveries arrive
TEST_EVENT = "test"


class ListenerOrder(BaseModel):
    """A checked listener. Its url is that of a webhook (http or https) or of a mailbox
    (mailto:).
    """

    model_config = ConfigDict(extra="forbid", frozen=True, str_strip_whitespace=True)

    name: Annotated[str, Field(min_length=1, max_length=100, pattern=ONE_LINE)]
    url: Annotated[str, Field(max_length=2000)]
    events: Annotated[list[AlertEvent], Field(min_length=1, max_length=len(AlertEvent))]
    #: the id of the only crawl that the listener is about; None for all crawls and pools
    crawl: Annotated[int, Field(ge=1, strict=True)] | None = None
    #: the format for a webhook; a mailbox gets mails
    message_format: MessageFormat = MessageFormat.JSON
    is_on: bool = True

    @field_validator("url")
    @classmethod
    def _canonical_address(cls, url: str) -> str:
        if MAILBOX.fullmatch(url):
            url = f"{MAILTO}{url}"
        if is_mailbox(url):
            if not MAILBOX.fullmatch(address_of_mailbox(url)):
                raise ValueError("must be one mailbox, like mailto:crawls@example.org")
            return f"{MAILTO}{address_of_mailbox(url)}"
        try:
            address = read_address(url)
        except BadUrl as error:
            raise ValueError(str(error)) from error
        if address.scheme not in WEB:
            raise ValueError(f"must begin with http://, https:// or mailto:, not {address.scheme}:")
        return address.url

    @field_validator("events")
    @classmethod
    def _remove_duplicates(cls, events: list[AlertEvent]) -> list[AlertEvent]:
        return list(dict.fromkeys(events))


def read_listener(fields: Mapping[str, Any]) -> tuple[ListenerOrder | None, dict[str, str]]:
    """Return the listener, or None and a sentence for each field."""
    try:
        return ListenerOrder.model_validate(dict(fields)), {}
    except ValidationError as error:
        errors: dict[str, str] = {}
        for mistake in error.errors():
            unknown = "is not a field of a listener; these are: " + ", ".join(
                ListenerOrder.model_fields
            )
            sentence = sentence_for(mistake["type"], mistake.get("ctx", {}), mistake["msg"])
            errors.setdefault(
                str(mistake["loc"][0]),
                unknown if mistake["type"] == "extra_forbidden" else sentence,
            )
        return None, errors


def signature(secret: str, timestamp: int, body: bytes) -> str:
    """HMAC-SHA256 over the time and the body, so that an old message cannot be sent again as a new
    one.
    """
    return (
        "sha256=" + hmac.new(secret.encode(), f"{timestamp}.".encode() + body, sha256).hexdigest()
    )


def next_attempt_time(attempts: int, now: datetime) -> datetime | None:
    """The time of the next attempt after `attempts` attempts, the last of them now; None to give
    up.
    """
    return now + WAITS[attempts - 1] if attempts <= len(WAITS) else None


def is_mailbox(url: str) -> bool:
    return url[: len(MAILTO)].lower() == MAILTO


def address_of_mailbox(url: str) -> str:
    return url[len(MAILTO) :].strip()


def mail_text(facts: Mapping[str, Any]) -> tuple[str, str]:
    """Subject and text of an e-mail for the facts of a delivery."""
    page = [f"See {facts['page']}"] if "page" in facts else []
    diff = [facts["diff"]] if "diff" in facts else []
    lines = ["\n".join(map(line_as_text, lines_of(facts)))] if lines_of(facts) else []
    return f"[crawlsite] {subject_of(facts)}", "\n\n".join(
        [facts["sentence"], *lines, *diff, *page, f"Event: {facts['event']}, at {facts['at']}."]
    )
