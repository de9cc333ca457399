"""Nothing of a page reaches the network but by the door, whatever it tries."""

import socket
import threading

import psutil
import pytest

from crawling.web.rendering import process as rendering_process
from crawling.web.rendering.types import DoorAnswer
from tests.crawling.web.rendering.canaries import ALL_WAYS, canary
from tests.crawling.web.rendering.conftest import HTML, SiteDoor, page_of

WITH_NETWORK = "tests.crawling.web.rendering.program_with_network"
#: where the page sends requests that a browser has reason to make
BY_DOOR = {
    *("audio", "background", "beacon", "blob", "data", "embed", "events", "fetch"),
    *("font", "form", "frame", "https", "image", "imported", "keepalive", "module", "object"),
    *(
        "ping",
        "prefetch",
        "preload",
        "shared",
        "stylesheet",
        "video",
        "worker",
        "xhr",
        "redirected",
    ),
    *("moved", "refreshed", "from-shared"),
}


@pytest.fixture
def canary_(request):
    with canary() as opened:
        yield opened


class InternetSockets:
    """Looks again and again for sockets of the internet that a process or its children have."""

    def __init__(self, process: int) -> None:
        self._process = psutil.Process(process)
        self._is_over = threading.Event()
        self.found: list[str] = []
        self._thread = threading.Thread(target=self._look)

    def __enter__(self) -> "InternetSockets":
        self._thread.start()
        return self

    def __exit__(self, *_error) -> None:
        self._is_over.set()
        self._thread.join()

    def _look(self) -> None:
        while not self._is_over.wait(0.05):
            for process in [self._process, *self._process.children(recursive=True)]:
                try:
                    self.found += map(str, process.net_connections("inet"))
                except psutil.Error:  # it has ended
                    continue


def site_with_redirects(at: str) -> SiteDoor:
    def moved(path):
        return DoorAnswer(302, "Found", [("Location", f"http://{at}/{path}")])

    return SiteDoor(
        {
            "/redirect": moved("redirected"),
            "/download": DoorAnswer(200, "OK", [("Content-Disposition", "attachment")], b"x"),
            "/refresh.html": f'<meta http-equiv=refresh content="0; url=http://{at}/refreshed">',
            "/moves.html": f"<script>location.replace('http://{at}/moved')</script>",
            "/shared.js": f"fetch('http://{at}/from-shared', {{mode: 'no-cors'}});"
            f"new WebSocket('ws://{at}/from-shared')",
            "/service.js": f"fetch('http://{at}/from-service')",
            "/frame": DoorAnswer(
                200,
                "OK",
                [
                    *HTML,
                    ("Report-To", f'{{"max_age": 9, "endpoints": [{{"url": "https://{at}/r"}}]}}'),
                    ("NEL", '{"report_to": "default", "max_age": 9, "success_fraction": 1}'),
                    ("Link", f"<http://{at}/preconnect>; rel=preconnect"),
                ],
                b"<script>new WebSocket('ws://" + at.encode() + b"/frame')</script>",
            ),
        }
    )


@pytest.mark.parametrize("program", [rendering_process.PROGRAM, WITH_NETWORK])
def test_a_page_that_tries_all_ways_reaches_nothing_but_the_door(
    program, canary_, start_browser, monkeypatch
):
    monkeypatch.setattr(rendering_process, "PROGRAM", program)
    browser = start_browser()
    at = f"127.0.0.1:{canary_.port}"
    door = site_with_redirects(at)

    with InternetSockets(browser.process_id) as sockets:
        page = browser.render(page_of(ALL_WAYS.replace("CANARY", at)), door)

    assert page.document.title == "20"
    assert canary_.heard == []
    assert sockets.found == []
    paths = {path.strip("/") for path in door.paths}
    assert BY_DOOR - paths == set()
    assert not paths & {"service.js", "from-service", "window", "noopener", "socket"}
    assert "root:" not in page.document.text
    assert "candidate" not in page.document.text


def test_the_canaries_of_these_tests_hear(canary_):
    with socket.create_connection(("127.0.0.1", canary_.port)) as connection:
        assert connection.recv(1) == b""
    assert canary_.heard == ["TCP"]
