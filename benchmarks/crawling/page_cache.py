"""`python -m benchmarks.crawling.page_cache`: what a second crawl of the same web costs with and
without the page cache.

Wants a PostgreSQL whose tables are made; works in this process, in crawls of its own, which stay.
"""

from __future__ import annotations

import time

from benchmarks.scene.database import set_up_django


def main() -> None:
    from benchmarks.scene.crawls import crawl_to_the_end, make_ready
    from tests.webs.synthetic import SyntheticWeb, serve_web

    make_ready()
    web = SyntheticWeb(3, hosts=4, width=40, error_percent=0, redirect_percent=0, slow_percent=10)
    print(f"{'crawl':28}{'requests':>10}{'reused':>8}{'seconds':>9}")
    with serve_web(web) as served:
        for name, seconds in (
            ("first", 0),
            ("second, without the cache", 0),
            ("second, with the cache", 600),
        ):
            asked, began = served.count_requests(), time.monotonic()
            run = crawl_to_the_end(name, served.seeds, reuse_seconds=seconds)
            reused = run.pages.exclude(reused_from=None).count()
            print(
                f"{name:28}{served.count_requests() - asked:10}{reused:8}"
                f"{time.monotonic() - began:9.1f}"
            )


if __name__ == "__main__":
    set_up_django()
    main()
