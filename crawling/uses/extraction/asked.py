"""The questions about extraction, and their answers. Background jobs find the answers, since they
read foreign documents.
"""

from __future__ import annotations

from collections.abc import Mapping

from django.contrib.auth.models import User
from pydantic import TypeAdapter

from crawling.models import Inquiry, Page, Run
from crawling.previews.inquiries import ask_once
from crawling.previews.run_comparison import comparison_stamp
from crawling.uses.extraction.jobs import PAGE_TABLES, RULES
from crawling.uses.extraction.page_tables import PageTables
from crawling.uses.extraction.rule_previews import RulePreview

TABLES = TypeAdapter(PageTables)
PREVIEW = TypeAdapter(RulePreview)


def request_preview(
    run: Run, rules: Mapping[str, str], *, by: User | None, page: Page | None = None
) -> Inquiry:
    """Request a preview of rules. page: a page of the run that the preview shows before the latest
    pages. Raises InquiriesBusy.
    """
    question = {"run": run.pk, "rules": dict(rules), "moment": comparison_stamp(run)}
    question |= {"page": page.pk} if page else {}
    return ask_once(RULES.name, question, by=by, run=run)


def preview_of_inquiry(inquiry: Inquiry) -> RulePreview | None:
    """The preview of an answer; None if there is no answer yet."""
    return None if inquiry.answer is None else PREVIEW.validate_python(inquiry.answer)


def request_tables(page: Page, *, by: User | None) -> Inquiry:
    """Raises InquiriesBusy."""
    return ask_once(PAGE_TABLES.name, {"page": page.pk}, by=by, run=page.run)


def tables_of_inquiry(inquiry: Inquiry) -> PageTables | None:
    """The tables of an answer; None if there is no answer yet."""
    return None if inquiry.answer is None else TABLES.validate_python(inquiry.answer)
