"""The observations of a case at its server and in the rows, and the differences from the expected
ones.
"""

from __future__ import annotations

from dataclasses import dataclass

from crawling.models import Page, Run, Url
from crawling.models.jobs import ENDED_STATES
from tests.webs.case import Case
from tests.webs.server import CaseServer


@dataclass
class Seen:
    """A case, its server and its run. mib: the largest resident size of a work process.

    is_alone: no other case was crawled beside it, so that its time is its own.
    """

    case: Case
    server: CaseServer
    run: Run
    mib: float
    is_alone: bool = False

    def url(self, path: str) -> Url | None:
        return Url.objects.filter(run=self.run, url=self.server.origin + path).first()

    def page(self, path: str) -> Page | None:
        return Page.objects.filter(run=self.run, url__url=self.server.origin + path).first()

    def verdict(self, path: str | None = None) -> tuple[str, int | None] | None:
        """State and status of a path's row, by default the seed's; None without a row."""
        row = self.url(self.case.seed if path is None else path)
        return (row.state, row.status) if row else None

    def tries(self) -> int:
        return self.server.paths().count(self.case.seed.partition("#")[0])

    def faults(self) -> list[str]:
        """A sentence for each difference from the case."""
        case, wrong = self.case, []
        if self.run.state not in ENDED_STATES:
            wrong.append(f"the run is {self.run.state}: {self.run.reason}")
        ends = {case.seed: case.verdict, **case.pages_end}
        for path, wanted in ends.items():
            if (seen := self.verdict(path)) != wanted:
                wrong.append(f"{path} ended as {seen}, not as {wanted}")
        if self.tries() != case.tries:
            wrong.append(f"asked for {self.tries()} times, not {case.tries}")
        if case.most_requests is not None and len(self.server.paths()) > case.most_requests:
            wrong.append(f"{len(self.server.paths())} requests, more than {case.most_requests}")
        if self.is_alone and (took := self.server.seconds()) > case.seconds:
            wrong.append(f"took {took:.1f} s, more than {case.seconds:g}: {self.server.log()}")
        if self.mib > case.mib:
            wrong.append(f"the work process took {self.mib:.0f} MiB, more than {case.mib}")
        return case.judge(self) if case.judge and not wrong else wrong


HEAD = f"{'case':60}{'verdict':>9}{'tries':>7}{'seconds':>9}{'MiB':>6}"


def line(seen: Seen) -> str:
    """Name, verdict, tries, seconds and memory of a case as a row of the table."""
    state, status = seen.verdict() or ("-", "-")
    verdict = f"{state} {status}"
    figures = f"{seen.tries():7}{seen.server.seconds():9.1f}{seen.mib:6.0f}"
    return f"{seen.case.name:60}{verdict:>9}{figures}"


def table(seen: list[Seen]) -> str:
    """The cases' rows, each followed by its faults."""
    rows = [HEAD]
    for one in seen:
        rows += [line(one), *(f"    WRONG: {fault}" for fault in one.faults())]
    return "\n".join(rows)
