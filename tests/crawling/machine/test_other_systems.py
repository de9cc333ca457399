"""Features that only Linux has are taken away, one at a time, and the other way works.

No test runs on another system: what these show is that nothing insists on the feature.
"""

from __future__ import annotations

import builtins
import importlib.util
import os
import resource
import subprocess
import sys
import time
from types import SimpleNamespace

import psutil
import pytest

from crawling.archive import unpacker
from crawling.base import storage
from crawling.fetching.shift import lease
from crawling.machine import cpu_affinity, memory_limit
from crawling.machine.sandbox_program import set_limits
from crawling.machine.vitals import Vitals, find_kill_reason
from crawling.web.document_stream import DocumentStream
from crawling.web.documents import pdf, registry
from crawling.web.documents.base import DocumentSource
from crawling.web.fetch import transfer
from crawling.web.fetch.adapter import PinnedSession
from tests.crawling.raw import get

#: a C library without the functions of glibc and Linux
BARE = SimpleNamespace()


@pytest.fixture
def no_proc(monkeypatch):
    def refusing(opens):
        def refuse(file, *args, **options):
            if str(file).startswith("/proc/"):
                raise FileNotFoundError(file)
            return opens(file, *args, **options)

        return refuse

    memory_limit._open_statm.cache_clear()  # it may be open already
    monkeypatch.setattr("os.open", refusing(os.open))
    monkeypatch.setattr("io.open", refusing(builtins.open))  # pathlib's
    monkeypatch.setattr("builtins.open", refusing(builtins.open))


FORKS = """
import os, time
from types import SimpleNamespace
from crawling.machine import orphans
orphans._libc, orphans.LOOK_SECONDS = SimpleNamespace(), 0.05
child = os.fork()
if not child:
    orphans.stop_with_parent()
    print(os.getpid(), flush=True)
time.sleep(60)
"""


def test_without_a_signal_of_the_kernel_a_work_process_still_follows_its_killed_worker():
    worker = subprocess.Popen([sys.executable, "-c", FORKS], stdout=subprocess.PIPE, text=True)
    work_process = psutil.Process(int(worker.stdout.readline()))

    worker.kill()
    worker.communicate(timeout=60)

    # reparented to a process that may not reap it
    psutil.wait_procs([work_process], timeout=60)
    assert not work_process.is_running() or work_process.status() == psutil.STATUS_ZOMBIE


def test_without_a_clock_that_counts_sleep_a_lease_goes_by_the_monotonic_one(monkeypatch):
    monkeypatch.delattr(time, "CLOCK_BOOTTIME")
    try:
        assert importlib.reload(lease).CLOCK == time.CLOCK_MONOTONIC
    finally:
        monkeypatch.undo()
        importlib.reload(lease)


def test_without_affinity_a_shift_runs_on_any_core(monkeypatch):
    monkeypatch.delattr(os, "sched_getaffinity")
    monkeypatch.delattr(os, "sched_setaffinity")
    try:
        importlib.reload(cpu_affinity)
        with cpu_affinity.pin_to_one_core() as core, cpu_affinity.allow_all_cores():
            assert core is None
    finally:
        monkeypatch.undo()
        importlib.reload(cpu_affinity)


def test_without_abstract_sockets_a_shift_runs_on_any_core(monkeypatch):
    monkeypatch.setattr(cpu_affinity, "NAME", "/nowhere/core-{}")  # no name of the kernel's own

    with cpu_affinity.pin_to_one_core() as core:
        assert core is None


def test_without_proc_memory_has_no_limit_of_the_kernel_and_no_figure(no_proc):
    before = resource.getrlimit(resource.RLIMIT_DATA)
    limit = memory_limit.MemoryLimit()
    limit.allow(0)
    limit.end()
    memory_limit.prefer_oom_kill()

    assert resource.getrlimit(resource.RLIMIT_DATA) == before
    assert memory_limit.resident_bytes() == 0


def test_without_glibc_documents_are_read_all_the_same(monkeypatch):
    monkeypatch.setattr(memory_limit, "_libc", BARE)
    # every document gives its memory back
    monkeypatch.setattr(registry, "LARGE_BYTES", -1)
    monkeypatch.setattr(registry, "QUICK_SECONDS", -1)
    memory_limit.MemoryLimit().end()
    body = DocumentStream.of(b"<title>read</title>")

    assert registry.read_document(DocumentSource(body, "http://a.test/", "text/html")).title == (
        "read"
    )


def test_without_processor_times_of_threads_a_silent_process_is_still_killed(monkeypatch):
    def refuse(self):
        raise psutil.AccessDenied

    monkeypatch.setattr(psutil.Process, "threads", refuse)
    vitals = Vitals()
    vitals.beat()
    with vitals.hold_url(0, 7):
        time.sleep(0.02)

        found = find_kill_reason(os.getpid(), vitals, lease_seconds=0.01)

    assert found.culprit is None
    assert "no heartbeat" in found.why


def test_without_fdatasync_archives_are_synced_by_fsync(monkeypatch):
    monkeypatch.delattr(os, "fdatasync")
    spec = importlib.util.spec_from_file_location("crawling.storage_elsewhere", storage.__file__)
    elsewhere = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(elsewhere)

    assert elsewhere.SYNC is os.fsync


def test_without_figures_of_connections_none_is_kept(monkeypatch, make_site):
    monkeypatch.setattr(transfer, "TCP_INFO", None)
    site = make_site({"/": "x"})

    with PinnedSession() as session:
        got = [get(f"{site.url}/", session=session).body.read() for _ in range(2)]

    assert got == [b"x", b"x"]
    assert len(site.connections) == 2


def refuse_memory_limits(kind, _limits):
    if kind != resource.RLIMIT_CPU:
        raise ValueError("current limit exceeds maximum limit")


def test_where_the_kernel_refuses_limits_of_memory_programs_work(monkeypatch):
    monkeypatch.setattr(resource, "setrlimit", refuse_memory_limits)
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=SimpleNamespace(read=lambda _: b"")))

    set_limits({"memory_bytes": 1, "output_bytes": 1, "cpu_seconds": 60, "cores": ()})
    with pytest.raises(unpacker.ArchiveTrouble):  # it came as far as the record, which is none
        unpacker.write_part("0", "head")


def test_a_pdf_is_read_on_any_core_where_none_can_be_chosen(monkeypatch):
    monkeypatch.setattr(pdf, "CORES", ())
    body = DocumentStream.of(b"%PDF-1.4 nothing")

    assert pdf.read(DocumentSource(body, "http://a.test/", "application/pdf")).unread == "broken"
