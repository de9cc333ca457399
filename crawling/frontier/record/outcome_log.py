"""The lines of a run's log about the outcomes of URLs."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

from crawling.frontier.types import UrlOutcome
from crawling.installation.run_log import NewLogLine, write_all
from crawling.models import Level, Shift, UrlState
from crawling.web.addresses import canonical_address
from crawling.web.statuses import OF_THE_HOST, status_sentence

#: the most lines about failed URLs for each process and minute, and about hosts for each shift,
#: since a broken site must not fill the disk
MOST_LOG_LINES = 1_000


class OutcomeLog:
    """Every failed URL gets a line. An unreachable host gets one line for all its URLs, and so does
    a robots.txt that names sitemaps that cannot be requested.
    """

    def __init__(self) -> None:
        self._hosts: set[str] = set()
        #: hosts with a line in a batch that is perhaps not committed yet
        self._told: set[str] = set()

    def write_lines(
        self,
        shift: Shift,
        outcomes: Collection[UrlOutcome],
        urls: Mapping[int, str],
        failed_this_minute: int,
    ) -> None:
        """Write the lines of a batch, whose URLs are given by id.

        To be called within the transaction that records the batch, before `confirm`.
        """
        self._told = set()
        lines = [
            line
            for outcome in outcomes
            if outcome.status in OF_THE_HOST and not outcome.is_untried
            for line in self._host_lines(outcome, urls[outcome.url_id])
        ]
        lines += [
            line
            for outcome in outcomes
            if outcome.bad_maps
            for line in self._sitemap_lines(outcome, urls[outcome.url_id])
        ]
        failed = [outcome for outcome in outcomes if outcome.state == UrlState.FAILED]
        if failed:
            left = max(0, MOST_LOG_LINES - max(0, failed_this_minute - len(failed)))
            lines += [
                NewLogLine(_outcome_in_words(outcome), Level.WARNING, urls[outcome.url_id])
                for outcome in failed[:left]
                if outcome.status not in OF_THE_HOST
            ]
            if 0 < left <= len(failed):
                sentence = (
                    f"{MOST_LOG_LINES:,} URLs have failed within this minute; what else fails in "
                    "it is counted, but not logged."
                )
                lines.append(NewLogLine(sentence, Level.WARNING))
        write_all(shift.process.run_id, lines)

    def confirm(self) -> None:
        """Note that the lines of the latest batch are committed."""
        self._hosts |= self._told
        self._told = set()

    def _is_new(self, host: str) -> bool:
        if host in self._hosts or host in self._told:
            return False
        if len(self._hosts) + len(self._told) >= MOST_LOG_LINES:
            return False
        self._told.add(host)
        return True

    def _sitemap_lines(self, outcome: UrlOutcome, url: str) -> Iterator[NewLogLine]:
        """The lines about wrong sitemaps, once for each site, even if several pages report them."""
        robots = f"{canonical_address(url).origin}/robots.txt"
        if self._is_new(robots):
            told = f"Sitemaps that it names are not requested: {'; '.join(outcome.bad_maps)}."
            yield NewLogLine(told, Level.WARNING, robots)

    def _host_lines(self, outcome: UrlOutcome, url: str) -> Iterator[NewLogLine]:
        host = canonical_address(url).host_key
        if self._is_new(host):
            yield NewLogLine(f"{host}: {_outcome_in_words(outcome)}", Level.WARNING, url)


def _outcome_in_words(outcome: UrlOutcome) -> str:
    """The reason in a sentence, followed by the system's own message if it differs."""
    sentence = status_sentence(outcome.status)
    if outcome.error.startswith(sentence):
        return outcome.error
    return f"{sentence} ({outcome.error})" if outcome.error else sentence
