"""The module for each scheme, except HTTP, which needs headers, cookies and proxies
(`crawling.pipeline.client`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from crawling.web.fetch.files import fetch_file
from crawling.web.fetch.ftp import fetch_ftp
from crawling.web.fetch.http import Fetched
from crawling.web.fetch.scheme_task import FetchTask

FETCHERS: Mapping[str, Callable[[FetchTask], Fetched]] = {"file": fetch_file, "ftp": fetch_ftp}
