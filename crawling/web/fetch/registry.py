"""Which module fetches which scheme, beside HTTP, which knows headers, cookies and proxies
(`crawling.pipeline.client`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from crawling.web.fetch.fetch_task import FetchTask
from crawling.web.fetch.files import fetch_file
from crawling.web.fetch.ftp import fetch_ftp
from crawling.web.fetch.http import Fetched

FETCHERS: Mapping[str, Callable[[FetchTask], Fetched]] = {"file": fetch_file, "ftp": fetch_ftp}
