"""An order's settings for reusing pages and payloads: another crawl has fetched them lately, they
stay as they were, or the archive has the same payload already.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, Field

from crawling.orders.fields import NUMBER, Question

LONGEST_SECONDS = 31 * 24 * 3600
MOST_DAYS = 366
#: where a payload counts as stored
Deduplicate = Literal["none", "run", "crawl", "all"]
DEDUPLICATE: Deduplicate = "crawl"


class ReusePart(BaseModel):
    """0: every page is requested, even if another crawl has it or it never changed."""

    reuse_seconds: Annotated[
        int,
        Field(ge=0, le=LONGEST_SECONDS),
        NUMBER,
        Question(
            label="Reuse pages of other crawls, up to this age in seconds",
            help="A page that another crawl fetched within this time is copied from its "
            "archive instead of requested. Empty: every page is fetched.",
            meaning="reuse pages that another crawl fetched within the last N seconds; 0: off",
            option="--reuse-seconds",
        ),
    ] = 0
    revisit_days: Annotated[
        int,
        Field(ge=0, le=MOST_DAYS),
        NUMBER,
        Question(
            label="Max. revisit interval, in days",
            help="A page that earlier runs found unchanged is not requested for as long as "
            "it has been unchanged. Empty: every run requests it.",
            meaning="maximum days without a request for a page that earlier runs found "
            "unchanged; 0: every run requests it",
            option="--revisit-days",
            above="",
        ),
    ] = 0
    deduplicate: Annotated[
        Deduplicate,
        Question(
            label="Store each payload once",
            help="A payload that the archive has already is referred to by a revisit record. The "
            "choice of all crawls names addresses of other crawls in the archive.",
            meaning="refer by a WARC revisit record to a payload that the archive has already: "
            "none, or one of this run, of any run of this crawl, or of all crawls",
            choices=(
                ("crawl", "within all runs of this crawl"),
                ("run", "within each run"),
                ("all", "within all crawls"),
                ("none", "no: every answer is stored whole"),
            ),
            option="--deduplicate",
            above="",
        ),
    ] = DEDUPLICATE
