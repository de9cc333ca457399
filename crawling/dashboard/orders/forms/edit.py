"""The form that edits a crawl's rules, at any time."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

from crawling.crawls.revisions import EDITABLE
from crawling.dashboard.orders.forms.budget import BudgetForm, budget_answers
from crawling.dashboard.orders.forms.create import FORM_FIELD, SCALES, CrawlForm
from crawling.dashboard.orders.forms.fetching import FetchingForm, fetching_answers
from crawling.dashboard.orders.forms.fields import as_sentence, lines_field, plain, scaled
from crawling.dashboard.orders.forms.filters import FiltersForm, filters_answers
from crawling.dashboard.orders.forms.politeness import PolitenessForm, politeness_answers
from crawling.dashboard.orders.forms.thresholds import ThresholdsForm, thresholds_answers
from crawling.models import CrawlJob
from crawling.orders.order import CrawlOrder

#: questions that it shares with the form for a new crawl
SHARED = (
    "scope",
    "max_pages",
    "max_depth",
    "max_megabytes",
    "max_minutes",
    "delay_seconds",
    "priority",
)


class EditForm(FiltersForm, BudgetForm, ThresholdsForm, PolitenessForm, FetchingForm):
    """What may be asked anew of a crawl that is there.

    `urls` is for the tester, and no part of the order.
    """

    urls = lines_field(
        "Addresses to test",
        "One a line, at most 500. Nothing is fetched, and nothing is saved.",
        rows=4,
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields |= {name: deepcopy(CrawlForm.base_fields[name]) for name in SHARED}
        del self.fields["posts"]

    def as_changes(self) -> dict[str, Any]:
        """All fields that may be edited but the name, unchecked; what was left empty has its
        default.
        """
        answers = self.cleaned_data
        fields: dict[str, Any] = {
            name: CrawlOrder.model_fields[name].get_default(call_default_factory=True)
            for name in EDITABLE[1:]
        }
        fields |= {
            name: answers[name]
            for name in ("scope", "max_pages", "max_depth", "delay_seconds", "priority")
            if answers.get(name)
        }
        fields |= {
            name: scaled(answers[mine], by) for name, mine, by in SCALES if answers.get(mine)
        }
        return {
            **fields,
            **self.filters(),
            **self.budget(),
            **self.thresholds(),
            **self.politeness(),
            **self.fetching(),
        }

    def blame(self, errors: dict[str, str]) -> None:
        """Put each mistake beside the field that it is about."""
        for key, message in errors.items():
            field = FORM_FIELD.get(key, key).partition(".")[0]
            self.add_error(field if field in self.fields else None, as_sentence(message))


def edit_answers(crawl: CrawlJob) -> dict[str, Any]:
    """The form as the order stands."""
    answers = {
        name: plain(value)
        for name in ("max_pages", "max_depth", "delay_seconds", "priority")
        if (value := getattr(crawl, name)) is not None
    }
    answers |= {
        mine: plain(value / by)
        for name, mine, by in SCALES
        if (value := getattr(crawl, name)) is not None
    }
    answers |= {
        **politeness_answers(crawl),
        **fetching_answers(crawl, masked=True),
        **thresholds_answers(crawl),
    }
    return {**answers, "scope": crawl.scope, **filters_answers(crawl), **budget_answers(crawl)}
