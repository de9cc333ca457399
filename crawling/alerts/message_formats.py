"""The bodies that alerts are sent in: the facts as JSON, or a message for a chat. Pure.

Slack's incoming webhooks take `text`, Teams' workflows an adaptive card, and Matrix's generic
webhooks (matrix-hookshot) `text` with `html` beside it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from enum import StrEnum
from html import escape
from typing import Any

Facts = Mapping[str, Any]
#: what Slack reads as markup, and its escapes
SLACK_ESCAPES = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;"})


class MessageFormat(StrEnum):
    """Of a webhook's body."""

    JSON = "json"
    SLACK = "slack"
    TEAMS = "teams"
    MATRIX = "matrix"


def body_of(format_: str, facts_json: str) -> bytes:
    """The body for a delivery. Facts as JSON stay as they are, byte for byte."""
    shape = SHAPES.get(MessageFormat(format_))
    if shape is None:
        return facts_json.encode()
    return json.dumps(shape(json.loads(facts_json)), ensure_ascii=False).encode()


def subject_of(facts: Facts) -> str:
    """One line: what happened, and to what."""
    what = str(facts["name"])
    if "run" in facts:
        what += f", run {facts['run']}"
    elif "pool" in facts:
        what = f"pool {what}"
    return " ".join(f"{facts['event']}: {what}".split())


def slack_message(facts: Facts) -> dict[str, Any]:
    """Bold subject, the sentence, and a link to the page. Names cannot add markup or mentions."""
    lines = [f"*{_slack(subject_of(facts))}*", _slack(facts["sentence"])]
    if "page" in facts:
        lines.append(f"<{_slack(facts['page'])}|Open the page>")
    return {"text": "\n".join(lines)}


def teams_message(facts: Facts) -> dict[str, Any]:
    """One adaptive card, whose texts are plain runs, in which nothing is markup."""
    card: dict[str, Any] = {
        "$schema": "http://adaptivecards.io/schemas/adaptive-card.json",
        "type": "AdaptiveCard",
        "version": "1.4",
        "body": [
            _teams_text(subject_of(facts), weight="Bolder"),
            _teams_text(str(facts["sentence"])),
        ],
    }
    if "page" in facts:
        card["actions"] = [
            {"type": "Action.OpenUrl", "title": "Open the page", "url": facts["page"]}
        ]
    content_type = "application/vnd.microsoft.card.adaptive"
    return {"type": "message", "attachments": [{"contentType": content_type, "content": card}]}


def matrix_message(facts: Facts) -> dict[str, Any]:
    """The same twice, for clients that show HTML and for those that do not."""
    subject, sentence = subject_of(facts), str(facts["sentence"])
    text, html = [subject, sentence], f"<b>{escape(subject)}</b><br>{escape(sentence)}"
    if "page" in facts:
        text.append(facts["page"])
        html += f'<br><a href="{escape(facts["page"])}">Open the page</a>'
    return {"text": "\n".join(text), "html": html}


def _slack(text: str) -> str:
    return text.translate(SLACK_ESCAPES)


def _teams_text(text: str, **style: str) -> dict[str, Any]:
    return {"type": "RichTextBlock", "inlines": [{"type": "TextRun", "text": text, **style}]}


SHAPES: Mapping[MessageFormat, Callable[[Facts], dict[str, Any]]] = {
    MessageFormat.SLACK: slack_message,
    MessageFormat.TEAMS: teams_message,
    MessageFormat.MATRIX: matrix_message,
}
