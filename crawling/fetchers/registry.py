"""Which module fetches which scheme, beside HTTP, which knows headers, cookies and proxies (`crawling.fetchers.client`)."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from crawling.fetchers.files import fetch_file
from crawling.fetchers.ftp import fetch_ftp
from crawling.fetchers.http import Fetched
from crawling.fetchers.task import FetchTask

FETCHERS: Mapping[str, Callable[[FetchTask], Fetched]] = {"file": fetch_file, "ftp": fetch_ftp}
