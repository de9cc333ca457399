"""The kinds of exports."""

from crawling.uses.exports.mirror.jobs import LATEST_MIRROR, MIRROR
from crawling.uses.exports.wacz.jobs import WACZ

KINDS = (WACZ, MIRROR, LATEST_MIRROR)
