"""A planned crawl: its size, and the assumed rates and prices."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from crawling.orders.claims import USUAL_PAGES
from crawling.orders.fields import NUMBER, OrderField, Question, fields_of
from crawling.orders.rendering_needs import ARCHIVED_KILOBYTES, PAGE_SECONDS, PROCESSOR_SECONDS
from crawling.orders.sentences import sentence_for

Whole = Annotated[int, Field(ge=1, le=10**15), NUMBER]
Positive = Annotated[float, Field(gt=0, le=1e9, allow_inf_nan=False), NUMBER]
NotNegative = Annotated[float, Field(ge=0, le=1e9, allow_inf_nan=False), NUMBER]
Share = Annotated[float, Field(ge=0, le=100, allow_inf_nan=False), NUMBER]
Percent = Annotated[float, Field(gt=0, le=100, allow_inf_nan=False), NUMBER]


class PlannedCrawl(BaseModel):
    """A planned crawl, with assumed rates and prices."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    pages: Annotated[
        Whole, Question(meaning="pages to fetch", label="Pages", option="--pages", metavar="N")
    ] = 15_000_000_000
    days: Annotated[
        Positive,
        Question(meaning="days the crawl may take", label="Days", option="--days", metavar="DAYS"),
    ] = 28
    hosts: Annotated[
        Whole,
        Question(
            meaning="hosts of the pages; the source document names no number",
            label="Hosts",
            option="--hosts",
            metavar="N",
        ),
    ] = 100_000_000
    delay_seconds: Annotated[
        NotNegative,
        Question(
            meaning="seconds between two requests to a host",
            label="Delay per host, in seconds",
            option="--delay",
            metavar="SECONDS",
        ),
    ] = 1
    page_kilobytes: Annotated[
        Positive,
        Question(
            meaning="size of a page in kilobytes of 1,000 bytes, on average",
            label="Page size, in KB",
            option="--page-kilobytes",
            metavar="KB",
        ),
    ] = 100
    metadata_bytes: Annotated[
        NotNegative,
        Question(
            meaning="bytes of metadata stored with a page",
            label="Metadata per page, in bytes",
            option="--metadata-bytes",
            metavar="BYTES",
        ),
    ] = 500
    stored_percent: Annotated[
        Percent,
        Question(
            meaning="size of a page in the archive, compressed, in percent of the page",
            label="Archive size, in % of the pages",
            option="--stored-percent",
            metavar="PERCENT",
        ),
    ] = 100
    rendered_percent: Annotated[
        Share,
        Question(
            meaning="pages that a browser renders, in percent",
            label="Rendered pages, in %",
            option="--rendered-percent",
            metavar="PERCENT",
        ),
    ] = 0
    rendered_page_seconds: Annotated[
        Positive,
        Question(
            meaning="seconds for which a rendered page has a browser page",
            label="Time of a rendered page, in s",
            option="--rendered-page-seconds",
            metavar="SECONDS",
        ),
    ] = PAGE_SECONDS
    rendered_page_processor: Annotated[
        Positive,
        Question(
            meaning="processor seconds of a rendered page",
            label="Processor time of a rendered page, in s",
            option="--rendered-page-processor",
            metavar="SECONDS",
        ),
    ] = PROCESSOR_SECONDS
    rendered_page_kilobytes: Annotated[
        NotNegative,
        Question(
            meaning="kilobytes of 1,000 bytes in the archive for the screenshot, document and text "
            "of a rendered page",
            label="Archive of a rendered page, in KB",
            option="--rendered-page-kilobytes",
            metavar="KB",
        ),
    ] = ARCHIVED_KILOBYTES
    rendered_page_mebibytes: Annotated[
        Positive,
        Question(
            meaning="memory of a browser page in MiB",
            label="Memory of a browser page, in MiB",
            option="--rendered-page-mebibytes",
            metavar="MIB",
        ),
    ] = 512
    worker_browser_pages: Annotated[
        Whole,
        Question(
            meaning="open browser pages of one worker",
            label="Browser pages of a worker",
            option="--worker-browser-pages",
            metavar="N",
        ),
    ] = USUAL_PAGES
    fill_percent: Annotated[
        Percent,
        Question(
            meaning="highest disk usage, in percent",
            label="Disk fill, in %",
            option="--fill-percent",
            metavar="PERCENT",
        ),
    ] = 70
    worker_pages_per_second: Annotated[
        Positive,
        Question(
            meaning="pages a second of one worker",
            label="Pages/s of a worker",
            option="--worker-rate",
            metavar="N",
        ),
    ] = 400
    worker_mebibytes: Annotated[
        Positive,
        Question(
            meaning="memory of one worker in MiB",
            label="Memory of a worker, in MiB",
            option="--worker-mebibytes",
            metavar="MIB",
        ),
    ] = 320
    machine_workers: Annotated[
        Whole,
        Question(
            meaning="workers per machine, about one per core",
            label="Workers per machine",
            option="--machine-workers",
            metavar="N",
        ),
    ] = 8
    machine_hour_price: Annotated[
        NotNegative,
        Question(
            meaning="price of a machine for an hour",
            label="Price of a machine per hour",
            option="--machine-price",
            metavar="PRICE",
        ),
    ] = 0
    terabyte_month_price: Annotated[
        NotNegative,
        Question(
            meaning="price of a terabyte of disk for 30 days",
            label="Price of a TB per month",
            option="--terabyte-price",
            metavar="PRICE",
        ),
    ] = 0


FIELDS: tuple[OrderField, ...] = fields_of(PlannedCrawl)


def read_planned_crawl(
    answers: Mapping[str, Any],
) -> tuple[PlannedCrawl | None, dict[str, str]]:
    """The input of a plan from text or numbers. If it has mistakes, None and a sentence for each
    field.
    """
    try:
        return PlannedCrawl.model_validate(dict(answers)), {}
    except ValidationError as error:
        return None, {
            str(mistake["loc"][0]): sentence_for(
                mistake["type"], mistake.get("ctx", {}), mistake["msg"]
            )
            for mistake in error.errors()
        }
