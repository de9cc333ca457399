"""A pool, permission for loopback, and our identity, which named hosts want."""

from tests.crawling.conftest import identified, loopback, order, pool  # noqa: F401 - fixtures
