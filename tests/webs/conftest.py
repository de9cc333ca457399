"""A pool, permission for loopback, and our identity, which crawls of named hosts require."""

from tests.crawling.conftest import identified, loopback, order, pool  # noqa: F401 - fixtures
