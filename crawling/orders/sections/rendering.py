"""An order's settings for pages whose content scripts make, which a browser renders."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, Field, field_validator

from crawling.orders.fields import MEGABYTES, MIB, NUMBER, Count, Question, Text
from crawling.web.expressions import check_expressions, read_expression

#: which pages a browser renders: none, those that look empty without scripts, or all
Render = Literal["never", "when_needed", "always"]
#: the most rules, since each page is compared with all of them
MOST_RULES = 50
#: the MiB without which Chromium shows hardly any page, and the most that one page may have
LEAST_MIB, MOST_MIB = 128, 8192

Seconds = Annotated[int, Field(ge=1, le=300), NUMBER]
Requests = Annotated[int, Field(ge=1, le=10_000), NUMBER]
Scrolls = Annotated[int, Field(ge=0, le=100), NUMBER]
Mebibytes = Annotated[int, Field(ge=LEAST_MIB, le=MOST_MIB), NUMBER]
PageBytes = Annotated[int, Field(ge=MIB, le=1024 * MIB), NUMBER]


class RenderingPart(BaseModel):
    """By default, no page is rendered, and a crawl claims no browser."""

    render: Annotated[
        Render,
        Question(
            label="Render pages",
            help="A browser runs the scripts of a page before its links and text are read. It "
            "takes a hundred times as long as a plain fetch. Requires workers with a browser.",
            meaning="pages that a browser renders before they are read: never, when_needed "
            "(HTML that looks empty without scripts) or always (all HTML); requires workers with "
            "a browser",
            choices=(
                ("never", "never: pages are read as the server sends them"),
                ("when_needed", "when needed: pages that are empty without scripts"),
                ("always", "always: every HTML page"),
            ),
            option="--render",
        ),
    ] = "never"
    render_rules: Annotated[
        dict[Text, Render],
        Field(max_length=MOST_RULES),
        Question(
            label="Rules for URLs",
            heading="Render by URL",
            help="One per line: a regular expression (RE2), =, and never, when_needed or always, "
            "like /app/ = always. The first that matches a URL decides; without one, the choice "
            "above.",
            meaning="another choice for URLs that match a regular expression (RE2): never, "
            "when_needed or always; the first that matches decides",
            rows=3,
            option="--render-rule",
            metavar="REGEX=CHOICE",
        ),
    ] = Field(default_factory=dict)
    render_pages: Annotated[
        Count | None,
        Question(
            label="Rendered pages",
            help="Further pages are read as the server sends them. Empty: no limit.",
            meaning="maximum number of pages that a browser renders in a run; further ones are "
            "read as the server sends them",
            above="",
            option="--render-pages",
        ),
    ] = None
    render_seconds: Annotated[
        Seconds,
        Question(
            label="Seconds per rendered page",
            help="After this time the page is read as it is then.",
            meaning="maximum seconds for which a page is rendered",
            option="--render-seconds",
        ),
    ] = 30
    render_bytes: Annotated[
        PageBytes,
        Question(
            label="Megabytes per rendered page",
            help="The page with all that it loads.",
            meaning="maximum bytes that a rendered page receives, with all that it loads; 1 MiB "
            "to 1 GiB",
            unit=MEGABYTES,
            option="--render-bytes",
        ),
    ] = 64 * MIB
    render_requests: Annotated[
        Requests,
        Question(
            label="Requests per rendered page",
            help="Scripts, data, styles and images that it loads.",
            meaning="maximum requests of a rendered page",
            option="--render-requests",
        ),
    ] = 300
    render_scrolls: Annotated[
        Scrolls,
        Question(
            label="Scroll steps",
            help="Times that a page is scrolled down, so that it loads more. 0: none.",
            meaning="maximum number of times that a rendered page is scrolled down by the height "
            "of its window; 0: none",
            option="--render-scrolls",
        ),
    ] = 10
    render_obeys_robots: Annotated[
        bool,
        Question(
            label="robots.txt for page files",
            heading="robots.txt for files of rendered pages",
            help="Scripts, data, styles and images that a rendered page loads. robots.txt always "
            "holds for pages.",
            meaning="obey robots.txt for the files that rendered pages load, too; for pages it is "
            "always obeyed",
            choices=(("true", "Obey it for files, too"), ("false", "For pages only")),
        ),
    ] = True
    render_memory_mib: Annotated[
        Mebibytes,
        Question(
            label="Memory per rendered page, in MiB",
            heading="Memory per rendered page (MiB)",
            help="A page that takes more is ended.",
            meaning="MiB of memory for a rendered page; one that takes more is ended",
            option="--render-memory-mib",
        ),
    ] = 512

    @field_validator("render_rules")
    @classmethod
    def _check_rules(cls, rules: dict[str, Render]) -> dict[str, Render]:
        check_expressions(rules)
        return rules

    @property
    def may_render(self) -> bool:
        """Whether the order renders pages at all."""
        return self.render != "never" or any(one != "never" for one in self.render_rules.values())


def choice_for(url: str, part: RenderingPart) -> Render:
    """Whether a page is to be rendered, by its URL alone."""
    return next(
        (choice for text, choice in part.render_rules.items() if read_expression(text).search(url)),
        part.render,
    )
