"""An order's settings for reusing pages and payloads, if another crawl has fetched a page recently,
a page is unchanged, or the archive already has the same payload.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, Field

from crawling.orders.fields import NUMBER, Question

LONGEST_SECONDS = 31 * 24 * 3600
MOST_DAYS = 366
#: the runs in which a payload counts as stored
Deduplicate = Literal["none", "run", "crawl", "all"]
DEDUPLICATE: Deduplicate = "crawl"
#: the policy by which the budget of visits is divided among pages
VisitPolicy = Literal["optimal", "uniform", "proportional"]
VISIT_POLICY: VisitPolicy = "optimal"
MOST_VISITS_A_DAY = 1_000_000_000


class ReusePart(BaseModel):
    """By default (0) every page is requested, even if another crawl has it or it never changed."""

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
            above="",
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
    visits_a_day: Annotated[
        int,
        Field(ge=0, le=MOST_VISITS_A_DAY),
        NUMBER,
        Question(
            label="Revisits per day",
            help="Runs request pages of earlier runs again only so many times a day in all, those "
            "first that it keeps fresh. Empty: no budget.",
            meaning="requests per day for pages that earlier runs have, divided by how often each "
            "page changes; revisit_days is then the longest wait; 0: no budget",
            option="--visits-a-day",
        ),
    ] = 0
    visit_policy: Annotated[
        VisitPolicy,
        Question(
            label="Revisit policy",
            help="How the revisits per day are divided among pages. Optimal keeps the most pages "
            "fresh.",
            meaning="division of visits_a_day among pages: optimal (most pages fresh), uniform "
            "(all alike) or proportional (to changes)",
            choices=(
                ("optimal", "optimal: most pages fresh"),
                ("uniform", "uniform: all pages alike"),
                ("proportional", "proportional: by how often a page changes"),
            ),
            option="--visit-policy",
        ),
    ] = VISIT_POLICY
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
    replay_file: Annotated[
        bool,
        Question(
            label="Make a replay file",
            help="At the end of each run its WACZ file is made, which replay programs and other "
            "archives read. It refers to the archive and takes little room.",
            meaning="have the WACZ file of a run made at its end",
            option="--replay-file",
        ),
    ] = False
