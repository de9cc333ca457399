"""How a crawl asks, as its order says: headers, cookies, credentials, proxies, POST seeds, a login
(issue 5, item 5).
"""

from __future__ import annotations

import gzip
import hashlib
import json
from urllib.parse import parse_qs

import pytest
from requests.utils import parse_dict_header

from crawling.base.encrypted_text import SealBroken, seal, unseal
from crawling.frontier.host_state import stored_sessions
from crawling.models import CookieJar, CrawlJob, LogLine, Run, TrustedProxy, Url
from crawling.orders.order import read_order
from crawling.orders.sections.fetching import FetchingPart
from crawling.runs.crawls.creation import clone_crawl, create_crawl, order_of
from crawling.runs.crawls.fetching_section import fetching_of
from crawling.runs.start import start_run
from crawling.web.addresses import read_address
from crawling.web.fetch.adapter import PinnedSession
from crawling.web.fetch.cookies import Cookies
from crawling.web.fetch.host_session import HostSession
from crawling.web.fetch.http import RequestOptions
from crawling.web.secret_headers import MASK, masked_request
from tests.crawling.archive.judging import files_of
from tests.crawling.fetching.pipeline.proxies import serve_proxy
from tests.crawling.fetching.pipeline.test_crawl_path import links
from tests.crawling.pages import browser
from tests.crawling.raw import OK, get, say, serve_raw

HTML = {"Content-Type": "text/html; charset=utf-8"}
SECRET = "hunter2"


def statuses(run):
    return dict(run.urls.values_list("url", "status"))


def everything_kept(run):
    """All that was written of a run, as bytes: rows, log, archive, with what is packed unpacked."""
    rows = [str(list(model.objects.values())) for model in (CrawlJob, Run, Url, LogLine, CookieJar)]
    return "".join(rows).encode() + b"".join(
        gzip.decompress(file.path.read_bytes()) for file in files_of(run)
    )


def test_headers_credentials_and_cookies_go_where_they_belong_and_are_kept_nowhere(
    make_site, crawl_to_the_end
):
    elsewhere = make_site({"/": "x"}, address="127.0.0.2")

    def home(request):
        if request.headers.get("Authorization") != "Basic bWU6aHVudGVyMg==":
            return 401, {"WWW-Authenticate": 'Basic realm="x"'}, ""
        return 200, {**HTML, "Set-Cookie": f"session={SECRET}; Path=/"}, links("/a")

    site = make_site({"/": home, "/a": (302, {"Location": f"{elsewhere.url}/"}, "")})
    host = site.url.removeprefix("http://")

    run = crawl_to_the_end(
        f"{site.url}/",
        scope="host",
        headers={"X-Key": SECRET, "Accept-Language": "de"},
        cookies=True,
        credentials={host: f"me:{SECRET}"},
        batch_size=1,
    )

    assert statuses(run) == {f"{site.url}/": 200, f"{site.url}/a": 302}
    asked = [
        (request.path, request.headers.get("X-Key"), request.headers.get("Cookie"))
        for request in site.log
    ]
    assert asked == [
        ("/robots.txt", SECRET, None),
        ("/", SECRET, None),
        ("/", SECRET, None),
        ("/a", SECRET, f"session={SECRET}"),
    ]
    assert all(request.headers["Accept-Language"] == "de" for request in site.log)
    kept = everything_kept(run)
    # the answer is kept as it came
    assert kept.count(SECRET.encode()) == kept.count(f"Set-Cookie: session={SECRET}".encode()) == 1
    assert b"X-Key: (not kept)" in kept
    assert SECRET not in json.dumps(order_of(run.crawl))


def test_a_host_that_only_a_link_names_is_shown_no_secret(make_site, crawl_to_the_end):
    elsewhere = make_site({"/": "x"}, address="127.0.0.2")
    site = make_site({"/": links(f"{elsewhere.url}/")})

    crawl_to_the_end(
        f"{site.url}/", off_site_hops=1, headers={"X-Key": SECRET, "Accept-Language": "de"}
    )

    assert {
        (request.path, request.headers.get("X-Key"), request.headers.get("Accept-Language"))
        for request in elsewhere.log
    } == {
        ("/robots.txt", None, "de"),
        ("/", None, "de"),
    }


def test_cookies_outlive_a_shift_and_stay_with_their_run(
    make_site, crawl_to_the_end, work_off, settings
):
    settings.CRAWL_SLICE_SECONDS = 0.0  # each shift ends at its first look
    site = make_site(
        {"/": (200, {**HTML, "Set-Cookie": "seen=1"}, links("/a", "/b")), "/a": "a", "/b": "b"}
    )

    run = crawl_to_the_end(f"{site.url}/", cookies=True, batch_size=1, delay_seconds=0.6)
    assert run.processes.get().shifts.count() > 1
    work_off(start_run(run.crawl))

    sent = [
        (request.path, request.headers.get("Cookie"))
        for request in site.log
        if request.path != "/robots.txt"
    ]
    assert sent == 2 * [("/", None), ("/a", "seen=1"), ("/b", "seen=1")]


def test_digest_is_answered_by_rfc_7616():
    said = 'Basic realm="b", Digest realm="r", nonce="n", qop="auth", algorithm=SHA-256'
    session = HostSession(challenges={"http://a.test": said})

    header = session.authorization("me:pw", read_address("http://a.test/x?y=1"), "GET")

    said = parse_dict_header(header.removeprefix("Digest "))

    def digest(text):
        return hashlib.sha256(text.encode()).hexdigest()

    middle = f"n:{said['nc']}:{said['cnonce']}:auth"
    assert said["response"] == digest(f"{digest('me:r:pw')}:{middle}:{digest('GET:/x?y=1')}")
    other = HostSession(challenges=session.challenges)
    named = other.authorization("mü€:pw", read_address("http://a.test/"), "GET")
    assert 'username="mü€"' in named.encode("latin-1").decode()
    unknown = HostSession(challenges={"http://a.test": "Negotiate"})
    assert unknown.authorization("me:pw", read_address("http://a.test/"), "GET") == ""


@pytest.mark.parametrize(
    ("kind", "asked"), [("socks5", "127.0.0.1:{port}"), ("http", "CONNECT 127.0.0.1:{port}")]
)
def test_a_proxy_is_told_the_vetted_address_and_never_the_name(
    kind, asked, make_site, crawl_to_the_end, dns_server
):
    site = make_site({"/": "x"}, address="127.0.0.1")
    dns_server.hosts["a.test"] = ["127.0.0.1"]
    with serve_proxy(kind, user="me", password=SECRET) as proxy:
        run = crawl_to_the_end(f"{site.url}/", proxy=f"{kind}://me:{SECRET}@127.0.0.1:{proxy.port}")

    assert set(statuses(run).values()) == {200}
    assert set(proxy.asked) == {asked.format(port=site.port)}
    assert SECRET.encode() not in everything_kept(run)


def test_only_a_trusted_proxy_fetches_by_itself(make_site, crawl_to_the_end):
    site = make_site({"/": "x"})
    with serve_proxy("http") as proxy:
        TrustedProxy.objects.create(host="127.0.0.1", port=proxy.port)
        run = crawl_to_the_end(f"{site.url}/", proxy=f"http://127.0.0.1:{proxy.port}")

    assert set(statuses(run).values()) == {200}
    assert f"GET {site.url}/" in proxy.asked


def test_a_proxy_that_will_not_serve_us_is_told_from_a_site_that_will_not(
    make_site, crawl_to_the_end
):
    with serve_proxy("socks5", user="me", password=SECRET) as proxy:
        way = f"socks5://me:wrong@127.0.0.1:{proxy.port}"
        run = crawl_to_the_end(f"{make_site({'/': 'x'}).url}/", proxy=way, host_patience_seconds=0)

    error = run.urls.get().error
    assert "proxy" in error
    assert "wrong" not in error


def test_a_seed_may_be_posted(make_site, crawl_to_the_end):
    def search(request):
        return (200, HTML, links("/found")) if request.method == "POST" else (405, HTML, "")

    site = make_site({"/search": search, "/found": "x"})

    run = crawl_to_the_end(posts={f"{site.url}/search": "q=books"})

    assert set(statuses(run).values()) == {200}
    assert [
        (request.method, request.path) for request in site.log if request.path != "/robots.txt"
    ] == [
        ("POST", "/search"),
        ("GET", "/found"),
    ]
    assert next(request.body for request in site.log if request.method == "POST") == b"q=books"


FORM = (
    "<form method=post action=/enter><input name=user><input type=password name=pass><input "
    "type=hidden name=t value=1></form>"
)


def with_login(password):
    """A site that shows its pages to those who logged in with that password."""

    def enter(request):
        said = parse_qs(request.body.decode())
        if said != {"user": ["me"], "pass": [password], "t": ["1"]}:
            return 200, HTML, FORM
        return 303, {"Location": "/", "Set-Cookie": "in=yes; Path=/"}, ""

    def home(request):
        return (
            (200, HTML, links("/inside"))
            if "in=yes" in request.headers.get("Cookie", "")
            else (302, {"Location": "/login"}, "")
        )

    return {"/login": FORM, "/enter": enter, "/": home, "/inside": "secret papers"}


def test_a_crawl_logs_in_by_the_sites_own_form_before_its_first_page(make_site, crawl_to_the_end):
    site = make_site(with_login(SECRET))

    run = crawl_to_the_end(
        f"{site.url}/", login_url=f"{site.url}/login", login_fields={"user": "me", "pass": SECRET}
    )

    assert statuses(run) == {f"{site.url}/": 200, f"{site.url}/inside": 200}
    assert SECRET.encode() not in everything_kept(run)


def test_a_login_that_fails_pauses_the_run_and_says_why(make_site, order, work_off):
    site = make_site(with_login("another"))
    crawl = create_crawl(
        order(
            f"{site.url}/",
            login_url=f"{site.url}/login",
            login_fields={"user": "me", "pass": SECRET},
        )
    )

    run = work_off(start_run(crawl), until=lambda run: run.state == "paused")

    assert "shows its form again" in run.reason
    assert SECRET not in run.reason
    assert run.urls.get().state == "q"


def test_a_clone_has_the_secrets_and_shows_them_as_little(order):
    crawl = create_crawl(
        order(
            "http://127.0.0.1:8900/",
            headers={"X-Key": SECRET},
            proxy=f"socks5://me:{SECRET}@127.0.0.1",
        )
    )

    copy = clone_crawl(crawl)

    assert fetching_of(copy) == fetching_of(crawl)
    assert fetching_of(copy).headers == {"X-Key": SECRET}
    assert (order_of(copy)["headers"], order_of(copy)["proxy"]) == (
        {"X-Key": MASK},
        f"socks5://me:{MASK}@127.0.0.1:1080",
    )


def test_the_form_takes_secrets_and_no_page_gives_them_back(pool, loopback):
    operator = browser("operator")
    typed = {
        "seeds": "http://127.0.0.1:8900/",
        "name": "papers",
        "order": "breadth_first",
        "preset": "normal",
    }
    asks = {
        "headers": f"X-Key: {SECRET}\nAccept-Language: de",
        "credentials": f"127.0.0.1:8900 me:{SECRET}",
        "cookies": "on",
    }
    logs_in = {
        "login_url": "http://127.0.0.1:8900/login",
        "login_fields": f"user=me\npass={SECRET}",
        "posts": "http://127.0.0.1:8900/s q=a b",
    }

    operator.post(
        "/crawls/new/",
        {
            **typed,
            **asks,
            **logs_in,
            "proxy": f"socks5://me:{SECRET}@127.0.0.1",
            "read_seconds": "9",
        },
    )

    crawl = CrawlJob.objects.get()
    part = fetching_of(crawl)
    assert (part.headers["X-Key"], part.credentials, part.read_seconds) == (
        SECRET,
        {"127.0.0.1:8900": f"me:{SECRET}"},
        9.0,
    )
    assert (part.login_fields, part.posts) == (
        {"user": "me", "pass": SECRET},
        {"http://127.0.0.1:8900/s": "q=a b"},
    )
    shown = [
        operator.get(path).content.decode()
        for path in (
            f"/crawls/{crawl.pk}/settings/",
            f"/crawls/new/?clone={crawl.pk}",
            f"/crawls/{crawl.pk}/",
            f"/api/v1/crawls/{crawl.pk}",
        )
    ]
    assert not any(SECRET in page or crawl.fetching["sealed"] in page for page in shown)
    assert "Accept-Language: de" in shown[0]
    assert "Accept-Language: de" in shown[1]


def test_what_is_sealed_opens_with_this_key_or_the_one_before_it_only(settings):
    sealed = seal({"a": SECRET})

    settings.SECRET_KEY, settings.SECRET_KEY_FALLBACKS = "a new key", [settings.SECRET_KEY]
    assert unseal(sealed) == {"a": SECRET}
    settings.SECRET_KEY_FALLBACKS = []
    with pytest.raises(SealBroken):
        unseal(sealed)


@pytest.mark.parametrize(
    ("field", "value", "sentence"),
    [
        ("headers", {"Host": "x"}, "Host is set by the crawler"),
        ("headers", {"A b": "x"}, "no name of a header"),
        ("headers", {"A": "x\r\nB: y"}, "one line"),
        ("headers", {"A": MASK}, "is not shown again"),
        ("credentials", {"a.test": "me"}, "write user:password"),
        ("proxy", "ftp://a.test", "socks5://user:password@host:port"),
        ("read_seconds", 0, "more than 0"),
        ("login_fields", {"user": "me"}, "belong together"),
        ("posts", {"nowhere": ""}, "is not a URL"),
    ],
)
def test_mistakes_are_told_beside_their_field(field, value, sentence):
    _, errors = read_order({"name": "a crawl", "seeds": ["http://a.test/"], field: value})

    assert sentence in next(text for key, text in errors.items() if key.startswith(field))


def test_a_record_of_a_request_has_no_secrets_and_all_the_rest():
    sent = (
        b"GET / HTTP/1.1\r\nHost: a.test\r\nauthorization: Basic x\r\nX-Key: y\r\nAccept: */*\r\n"
        b"\r\nX-Key: body"
    )

    assert masked_request(sent, frozenset({"x-key"})) == (
        b"GET / HTTP/1.1\r\nHost: a.test\r\nauthorization: (not kept)\r\nX-Key: (not kept)\r\n"
        b"Accept: */*\r\n\r\nX-Key: body"
    )


def test_headers_that_may_be_secrets_stay_with_the_seeds():
    part = FetchingPart(headers={"X-Key": "s", "Accept-Language": "de"})

    assert dict(part.headers_for(lambda name: False)) == {"Accept-Language": "de"}


@pytest.mark.parametrize("written", [b"a=b\r\n c", b'a="b\r\n\tc"', b"a\r\n b=c"])
def test_no_cookie_breaks_the_request_that_brings_it_back(written):
    cookies, empty = Cookies(), b"Content-Length: 0\r\n\r\n"
    asking = say(OK + b"Set-Cookie: " + written + b"\r\n" + empty, then=say(OK + empty))

    with serve_raw(asking) as (url, _), PinnedSession() as session:
        assert [
            get(url, session=session, how=RequestOptions(cookies=cookies)).status for _ in range(2)
        ] == [200, 200]


def test_a_cookie_reaches_another_port_of_its_host(make_site, crawl_to_the_end):
    def shown(request):
        return 200, HTML, links("/in") if "a=1" in request.headers.get("Cookie", "") else "x"

    other = make_site({"/": shown, "/in": "x"})
    sets = {**HTML, "Set-Cookie": "a=1; Path=/; Max-Age=session; SameSite=Strict"}
    site = make_site({"/": (200, sets, links(f"{other.url}/"))})
    assert site.url.rpartition(":")[0] == other.url.rpartition(":")[0]

    run = crawl_to_the_end(
        f"{site.url}/", cookies=True, scope="anywhere", max_hosts=5, host_max_pages=9
    )

    assert "/in" in other.paths
    kept = stored_sessions(run.pk, [Url.objects.get(run=run, url=f"{other.url}/").queue.host_id])
    sessions = [one.state for found in kept.values() for one in found]
    assert [cookie["name"] for one in sessions for cookie in one["cookies"]] == ["a"]
