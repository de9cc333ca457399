"""The head of an answer states links and conditions."""

from __future__ import annotations

from crawling.runs.start import start_run
from tests.crawling.fetching.pipeline.test_crawl_path import links


def html(body, **fields):
    heads = {name.replace("_", "-"): value for name, value in fields.items()}
    return 200, {"Content-Type": "text/html", **heads}, body


def test_links_of_a_head_are_followed_and_a_head_may_ask_not_to(make_site, crawl_to_the_end):
    site = make_site(
        {
            "/": html(
                links("/a", "/b"),
                Link='</next>; rel="next", </s.css>; rel=stylesheet, </x>; rel=next; anchor="#a"',
            ),
            "/a": html(links("/never"), X_Robots_Tag="noindex, nofollow", Link="</no>; rel=next"),
            "/b": html(
                links("/found"), X_Robots_Tag="otherbot: nofollow", Refresh="9; URL='/moved'"
            ),
            "/next": html("x", Link="</last>; rel=last, </first>; rel=first, <i>; rel=icon"),
            "/last": html("x", Link='</zeroth>; rel="index PREVIOUS", <u>; rel=unknown'),
            "/first": "x",
            "/zeroth": "x",
            "/found": "x",
            "/moved": "x",
        }
    )

    crawl_to_the_end(f"{site.url}/", obey_nofollow=True)

    assert sorted(site.paths) == [
        *("/", "/a", "/b", "/first", "/found", "/last", "/moved", "/next", "/zeroth"),
    ]


def test_a_failed_condition_is_asked_again_without_it(make_site, crawl_to_the_end, work_off):
    def page(request):
        if request.headers.get("If-None-Match"):
            return 412, {}, ""
        return html(links("/found"), ETag='"1"')

    site = make_site({"/": page, "/found": "x"})
    run = crawl_to_the_end(f"{site.url}/")
    site.log.clear()

    again = work_off(start_run(run.crawl))

    assert site.paths == ["/", "/", "/found"]
    assert again.urls.get(url=f"{site.url}/").status == 200


def test_a_date_goes_back_as_the_server_wrote_it(make_site, crawl_to_the_end, work_off):
    written = "Thu, 18 Dec 2014 13:21:17 +0200"
    site = make_site({"/": html("x", Last_Modified=written)})
    run = crawl_to_the_end(f"{site.url}/")
    site.log.clear()

    work_off(start_run(run.crawl))

    assert [request.headers.get("If-Modified-Since") for request in site.log] == [written]
    assert run.urls.get().page.last_modified.hour == 11
