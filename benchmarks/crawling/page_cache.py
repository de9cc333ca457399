"""`python -m benchmarks.crawling.page_cache`: what a second crawl of the same web costs with and
without the page cache.

Wants a PostgreSQL whose tables are made; works in this process, in crawls of its own, which stay.
"""

from __future__ import annotations

from benchmarks.scene.crawls import begin, make_ready, to_the_end
from benchmarks.timer import Table, timed
from tests.webs.synthetic import SyntheticWeb, serve_web

WEB = SyntheticWeb(3, hosts=4, width=40, error_percent=0, redirect_percent=0, slow_percent=10)
WAYS = {"first": 0, "second, without the cache": 0, "second, with the cache": 600}


def main() -> None:
    make_ready()
    table = Table("requests", "reused", "seconds", "crawl")
    with serve_web(WEB) as site:
        for name, seconds in WAYS.items():
            asked = site.count_requests()
            with timed() as taken:
                run = begin(name, site.seeds, delay_seconds=0.02, reuse_seconds=seconds)
                to_the_end(run)
            reused = run.pages.exclude(reused_from=None).count()
            table.row(site.count_requests() - asked, reused, taken.clock, name)


if __name__ == "__main__":
    main()
