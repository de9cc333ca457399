"""The page of the documentation about the fields of an order, made from their questions."""

from __future__ import annotations

from pydantic import BaseModel

from crawling.orders.fields import OrderField, fields_of
from crawling.orders.order import FIELDS, CrawlOrder
from crawling.orders.sections.budget import BudgetPart
from crawling.orders.sections.fetching import FetchingPart
from crawling.orders.sections.filters import FiltersPart
from crawling.orders.sections.ordering import OrderingPart
from crawling.orders.sections.politeness import PolitenessPart
from crawling.orders.sections.reading import ReadingPart
from crawling.orders.sections.rendering import RenderingPart
from crawling.orders.sections.reuse import ReusePart
from crawling.orders.sections.thresholds import ThresholdsPart

HEAD = """# The fields of an order

An order says what a crawl does. The form for a new crawl, `./crawl new` and the API take the same
fields. `manage.py order_fields > docs/orders.md` writes this page from the code, and a test
compares it.

A field that is not given has its default. *none* as a limit means that there is no limit. Names in
italics are the labels on the form; the form takes megabytes for bytes and minutes for seconds where
its label says so. Fields without an option are given by a file ([orders in a
file](command-line.md#orders-in-a-file)). A file and the API also take `tags`,
a list of words to find the crawl by, which are no part of the order.
"""
TABLE_HEAD = "| field | default | form, option | meaning |\n|---|---|---|---|\n"
#: defaults that are determined when a crawl is created
IN_WORDS = {"name": "the first seed's host", "seeds": "required"}
SECTIONS: tuple[tuple[str, type[BaseModel], str], ...] = (
    (
        "Filters",
        FiltersPart,
        "Seeds pass the filters for URLs, since they are asked for by name.",
    ),
    (
        "Soft limits, and limits on each host",
        BudgetPart,
        "At a soft limit no new URL is accepted, and known URLs are still fetched. At a hard "
        "limit fetching\nends.",
    ),
    (
        "Stop conditions and alerts",
        ThresholdsPart,
        "At a threshold the run pauses or stops by itself, and says why.",
    ),
    (
        "Order of visits",
        OrderingPart,
        "Best first takes the waiting URL with the greatest links_weight × pages "
        "that link to it\n+ url_weight × importance. Focused takes the one with the greatest "
        "expected\nsimilarity to the topic ([decision 93](decisions/0093-focused-crawl.md)). Known "
        "URLs are recognised\nexactly, however many there are: a Bloom filter\nbefore the lookup "
        "would save 18 µs on a new link and cost "
        "21 µs on a known one, with 1.2 million known\nURLs ([decision "
        "19](decisions/0019-url-ordering-and-seen-urls.md)), so no field asks for one.",
    ),
    ("Politeness", PolitenessPart, "Budgets of a host count what other crawls ask of it, too."),
    (
        "Requests",
        FetchingPart,
        "Headers, credentials, the proxy, what is posted, and what is filled in to log in are "
        "stored\nencrypted and never shown again. Headers and credentials go to the origins that "
        "were seeds when\nthey were given, log-in fields to that of the log-in page. A seed of "
        "another origin that is added\nlater gets them once they are given anew; an edit that "
        "would lead them to another log-in site or\nproxy is refused without that. Clones by "
        "others than the owner have none.",
    ),
    ("Reading and archive", ReadingPart, "All links are followed, unless a field says otherwise."),
    (
        "Rendering",
        RenderingPart,
        "Pages whose content scripts make are rendered by a browser, on workers that have one "
        "([decision\n188](decisions/0188-rendering-by-grants.md)). A crawl that never renders "
        "claims no browser.",
    ),
    ("Reuse", ReusePart, "Some pages need not be fetched again."),
)


def as_markdown() -> str:
    inherited = {one.name for _, part, _ in SECTIONS for one in fields_of(part)}
    own = [one for one in FIELDS if one.name not in inherited]
    return "\n".join(
        [
            HEAD,
            f"## Seeds, scope and limits\n\n{_markdown_table(own)}",
            *(
                f"## {title}\n\n{text}\n\n{_markdown_table(fields_of(part))}"
                for title, part, text in SECTIONS
            ),
        ]
    )


def _markdown_table(fields: list[OrderField] | tuple[OrderField, ...]) -> str:
    return TABLE_HEAD + "".join(_table_row(one) for one in fields)


def _table_row(one: OrderField) -> str:
    question = one.question
    places = [f"*{question.label}*"] if question.label else []
    places += [f"`{question.option}`"] if question.option else []
    return (
        f"| `{one.name}` | {_default_in_words(one)} | {', '.join(places)} | {question.meaning} |\n"
    )


def _default_in_words(one: OrderField) -> str:
    if CrawlOrder.model_fields[one.name].is_required():
        return IN_WORDS[one.name]
    if one.default in (None, [], {}):
        return "none"
    if isinstance(one.default, bool):
        return f"`{str(one.default).lower()}`"
    return f"`{one.default:g}`" if isinstance(one.default, float) else f"`{one.default}`"
