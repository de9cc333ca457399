"""The background job that makes the WACZ file of a run."""

from __future__ import annotations

from datetime import datetime

from crawling.models import Run
from crawling.uses.exports.export_kind import Package, export_kind


def _package(run: Run, at: datetime) -> Package:
    # what reads archive files is imported by those who need it
    from crawling.uses.exports.wacz.packing import WaczPackage

    return WaczPackage(run, at)


WACZ = export_kind("wacz", "WACZ file", _package)
