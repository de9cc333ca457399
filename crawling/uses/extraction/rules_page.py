"""Previews of rules on stored pages of a run, as the pages of extraction show them. The rules are
typed, or are those of a chosen extractor.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from crawling.base.errors import BadOrder, InquiriesBusy
from crawling.datasets.extracted_fields import FieldRules
from crawling.models import Page, Run
from crawling.runs.crawls.extractor_rules import named_rules, newest_rules
from crawling.uses.extraction.asked import preview_of_inquiry, request_preview
from crawling.uses.extraction.rule_previews import read_rules
from serving.access import AuthenticatedRequest
from serving.requests import asked_text

#: the most characters of rules in an address
LONGEST = 5_000


def rules_as_lines(rules: Mapping[str, str]) -> str:
    return "\n".join(f"{name} = {rule}" for name, rule in sorted(rules.items()))


def preview_facts(
    request: AuthenticatedRequest, run: Run, used: FieldRules, *, page: Page | None = None
) -> dict[str, Any]:
    """Facts for `_rule_preview.html` and `_rules_tried.html`: the rules of `?rules=`, or of
    `?extractor=`, and their matches on the latest pages, with `page` as the first.
    """
    chosen = named_rules(asked_text(request.GET, "extractor", most=LONGEST))
    asked = (
        rules_as_lines(chosen.rules) if chosen else asked_text(request.GET, "rules", most=LONGEST)
    )
    here: dict[str, Any] = {
        "given": asked or rules_as_lines(used.rules),
        "is_asked": bool(asked),
        "offered": newest_rules(),
        "chosen": chosen.name if chosen else "",
    }
    if asked:
        try:
            inquiry = request_preview(run, read_rules(asked), by=request.user, page=page)
            here |= {"inquiry": inquiry, "preview": preview_of_inquiry(inquiry)}
            here["trouble"] = inquiry.why_failed
        except (BadOrder, InquiriesBusy) as trouble:
            here["trouble"] = str(trouble)
    return here
