"""Errors of crawling, as sentences that operators read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence


class CrawlError(Exception):
    """The crawl cannot do what was asked of it."""

    def __init__(self, message: str = "") -> None:
        super().__init__(message or " ".join((self.__doc__ or "").split()))


class BadOrder(CrawlError):
    """The order for a crawl has mistakes; `errors` holds a sentence for each field that has one."""

    def __init__(self, errors: Mapping[str, str]) -> None:
        self.errors = dict(errors)
        super().__init__("; ".join(f"{field}: {message}" for field, message in self.errors.items()))


class BadSeeds(BadOrder):
    """The seeds cannot be added; `mistakes` holds a sentence for each that is wrong, `outside`
    those that the scope does not reach.
    """

    def __init__(self, mistakes: Sequence[str], outside: Sequence[str] = ()) -> None:
        self.mistakes, self.outside = list(mistakes), list(outside)
        beyond = (
            [f"outside the scope, which must be widened for them: {', '.join(outside)}"]
            if outside
            else []
        )
        super().__init__({"seeds": "; ".join([*mistakes, *beyond])})


class UnknownCrawl(CrawlError):
    """There is no such crawl."""


class UnknownRun(CrawlError):
    """The crawl has no such run."""


class NotFound(CrawlError):
    """Not found."""


class Withdrawn(NotFound):
    """It is withdrawn."""


class KeyReused(CrawlError):
    """The idempotency key belongs to another order; a new order needs a new key."""


class WrongState(CrawlError):
    """The crawl is not in a state in which this can be done."""


class TooManyWait(CrawlError):
    """So many crawls are queued or wait for resources that no other is started."""


class IndexBroken(CrawlError):
    """The search index cannot be read; it is made anew. Search again in a few minutes."""


class InquiriesBusy(CrawlError):
    """Too many questions wait for the background jobs; ask again in a moment."""


class ComparisonFailure(CrawlError):
    """The background job that was to compare the runs has failed."""


class NoPool(CrawlError):
    """There is no pool of resources yet; run `make run` or `python manage.py set_up` first."""


class ArchiveTrouble(CrawlError):
    """The archive cannot be written or read."""


class CheckpointTrouble(CrawlError):
    """The checkpoint cannot be written or read."""


def is_out_of_memory(error: BaseException) -> bool:
    """Whether this thread, or the PostgreSQL client library in it, got no memory. The library says
    so in its text, whatever error Django makes of it.
    """
    return isinstance(error, MemoryError) or str(error).strip() == "out of memory"
