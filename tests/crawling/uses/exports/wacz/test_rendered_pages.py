"""A package of rendered pages has what they have loaded, and what the browser made of them, in the
forms of Browsertrix.
"""

from __future__ import annotations

import json
import shutil
import subprocess
from io import BytesIO

import pytest
from warcio.archiveiterator import ArchiveIterator

from crawling.uses.withdrawals.withdrawing import withdraw_pages
from tests.crawling.uses.exports.wacz.test_wacz_file import index_of, made, opened, whole
from tests.servers import serve_site

pytestmark = pytest.mark.usefixtures("needs_browser", "browsers")
JSON, SCRIPT = {"Content-Type": "application/json"}, {"Content-Type": "text/javascript"}
SHELL = "<!doctype html><title>Shop</title><div id=app></div><script src=/app.js></script>"
LOAD = """fetch("/items.json").then(answer => answer.json()).then(items => {
  document.getElementById("app").textContent = "We have " + items.join(" and "); });
fetch("/basket", {method: "POST", body: "none"});"""
#: by the kind of rendition: the type of its content, as Browsertrix writes it
RENDITIONS = {"view": "image/jpeg", "thumbnail": "image/jpeg", "text": "text/plain"}


@pytest.fixture
def shop():
    pages = {
        "/": SHELL,
        "/app.js": (200, SCRIPT, LOAD),
        "/items.json": (200, JSON, json.dumps(["apples", "pears"])),
        "/basket": (200, JSON, "[]"),
    }
    with serve_site(pages) as site:
        yield site


@pytest.fixture
def run(shop, crawl_to_the_end):
    return crawl_to_the_end(f"{shop.url}/", render="always", max_pages=1)


def test_files_and_renditions_are_indexed_by_their_urls(shop, run):
    kinds = {facts["url"]: facts["mime"] for _, facts in index_of(opened(made(run)))}

    assert kinds[f"{shop.url}/app.js"] == "text/javascript"
    assert kinds[f"{shop.url}/items.json"] == "application/json"
    for kind, content_type in RENDITIONS.items():
        assert kinds[f"urn:{kind}:{shop.url}/"] == content_type
    assert f"{shop.url}/basket" not in kinds, "it answers no GET request"


def test_each_line_leads_to_its_record_of_the_form_that_browsertrix_writes(shop, run):
    package = opened(made(run))

    types = {}
    for _, facts in index_of(package):
        begin, length = int(facts["offset"]), int(facts["length"])
        packed = package.read(f"archive/{facts['filename']}")[begin : begin + length]
        record = next(ArchiveIterator(BytesIO(packed), check_digests="raise"))
        content = record.content_stream().read()
        target = record.rec_headers.get_header("WARC-Target-URI")
        assert target == facts["url"]
        assert record.rec_headers.get_header("WARC-Payload-Digest") == facts["digest"]
        types[target] = (record.rec_type, record.content_type, content)

    for kind, content_type in RENDITIONS.items():
        rec_type, found, content = types[f"urn:{kind}:{shop.url}/"]
        assert (rec_type, found.partition(";")[0]) == ("resource", content_type)
        assert content
    text = types[f"urn:text:{shop.url}/"][2].decode()
    assert " ".join(text.split()) == "We have apples and pears"
    assert types[f"{shop.url}/app.js"][0] == "response"


def test_the_tool_of_the_format_finds_no_fault(run, tmp_path):
    tool = shutil.which("wacz")
    if tool is None:
        pytest.skip("the tool of the format is not installed: pip install wacz")
    file = tmp_path / "run.wacz"
    file.write_bytes(whole(made(run)))

    subprocess.run([tool, "validate", "--file", str(file)], check=True)


def test_what_a_withdrawal_takes_away_is_not_indexed(shop, run):
    asked = {"kind": "page", "text": f"{shop.url}/", "reason": "asked for", "by": None}
    withdraw_pages(run.crawl, run, **asked, at_once=False)

    found = {facts["url"] for _, facts in index_of(opened(made(run)))}
    assert f"{shop.url}/app.js" in found
    assert not any(url.endswith(f"{shop.url}/") for url in found)
