"""Benchmarks in small: what they judge, what they measure, and what they stand on."""

from __future__ import annotations

import ast
import os
import sys
from graphlib import TopologicalSorter
from pathlib import Path
from tempfile import TemporaryFile

import pytest

import benchmarks
from benchmarks.crawling import changing_site, speed_scenes, use_steps, watched_site
from benchmarks.crawling.use_steps import STEPS
from benchmarks.crawling.uses import NAME, uses
from benchmarks.crawling.watched_site import Judged, watched_crawl
from benchmarks.scene.sites import EVERY, page_of
from benchmarks.timer import MIB, run_command
from crawling.datasets.catch_up import catch_up
from crawling.datasets.second_reading import read_run_again
from crawling.runs.start import start_run

CARD = '<p class="h-card">Ada</p>'


def test_all_that_changes_on_a_site_is_told_and_nothing_else(transactional_db, monkeypatch):
    monkeypatch.setattr(changing_site, "SPARE", 0.3)
    monkeypatch.setattr(changing_site, "GONE_A_DAY", 0.05)
    monkeypatch.setattr(watched_site, "SETTLING_DAYS", 1)
    monkeypatch.setattr(watched_site, "RUNS_A_DAY", 1)
    monkeypatch.setattr(watched_site, "VISITED_A_DAY", 1.0)  # so that each day has visits
    with watched_crawl(pages=30, seed=1) as watched:
        changed = {kind for _ in range(2) for kind, _ in watched.pass_day()}
        watched.plan("optimal")
        played = watched.follow_plan(1)
        rates = list(watched.rates())

    assert changed == {"changed", "gone", "new"}
    told = watched.judgement.told
    assert {what: (each.missing, each.wrong) for what, each in told.items()} == {
        "events of watches": (0, 0),
        "notices by webhook": (0, 0),
        "pages of two runs compared": (0, 0),
        "links of two runs compared": (0, 0),
    }
    assert all(each.found > 10 for each in told.values())
    assert 0 < played.fresh < 1
    assert 0 < played.requests < 60
    assert len(rates) == 5


def test_what_is_told_is_found_missing_or_wrong():
    judged = Judged()
    judged.judge({1, 2, 3}, {2, 3, 4, 5, 6})

    assert (judged.found, judged.missing, judged.wrong) == (2, 3, 1)


def test_each_use_is_tried_on_a_crawl(make_site, crawl_to_the_end, work_off, monkeypatch):
    monkeypatch.setattr(use_steps, "EVERY", 1)
    pages = {"/": '<title>The first page</title><a href="/a#none">a</a>', "/a": f"{CARD}<h1>a</h1>"}
    site = make_site(pages)
    crawl = crawl_to_the_end(f"{site.url}/", name=NAME).crawl
    site.pages["/a"] = f"{CARD}<h1>b</h1>"
    run = work_off(start_run(crawl))
    catch_up(run.pk)
    read_run_again(run.pk)

    said = {name: step(crawl) for name, step in STEPS.items()}

    # a missing fragment, titles and descriptions
    assert int(said["link check, CSV"].split()[0]) > 2
    assert said["watch of all pages"] == "1 events. "
    assert said["watch of all pages, numbers are no change"] == "1 events. "
    assert said["plan of revisits"] == "2 pages planned"
    assert said["searches"].startswith("300, p50 ")
    assert uses(1).keys() > STEPS.keys()


#: memory is looked at five times a second
HOLDS = f"held = bytearray({60 * MIB}); import time; time.sleep(1)"  # until it is looked at
HELD_TWICE = f"""
import subprocess, sys
held = bytearray({60 * MIB})
sys.exit(subprocess.call([sys.executable, "-c", {HOLDS!r}]))
"""


def test_a_command_is_measured_with_what_it_starts(db):
    with TemporaryFile() as out:
        status, taken = run_command([sys.executable, "-c", HELD_TWICE], out, os.environ)

    assert status == 0
    assert taken.memory > 120 * MIB
    assert taken.clock >= 1 > taken.here > 0.02


@pytest.mark.parametrize(
    ("target", "status"),
    [("/", 200), ("/p3.html", 200), ("/none", 404), ("/sub", 301), ("/../outside.html", 404)],
)
def test_a_folder_is_served_and_nothing_outside(tmp_path, target, status):
    root = tmp_path / "site"
    (root / "sub").mkdir(parents=True)
    for name in ("index.html", "p3.html", "sub/index.html", "../outside.html"):
        (root / name).write_text("<p>text</p>")

    assert page_of(root, target, 1).split()[1] == str(status).encode()


def test_a_tenth_of_the_pages_of_a_folder_is_another_in_the_next_edition(tmp_path):
    names = [f"/p{number}.html" for number in range(200)]
    for name in names:
        (tmp_path / name[1:]).write_text("<p>text</p>")

    changed = [page_of(tmp_path, name, 1) != page_of(tmp_path, name, 2) for name in names]

    assert 0.3 < sum(changed) * EVERY / len(names) < 2


def test_without_rusts_manual_its_scene_says_how_to_install_it(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(speed_scenes, "RUST", tmp_path / "none")
    monkeypatch.setattr(sys, "argv", ["speed_scenes", "--only", "rust"])

    speed_scenes.main()

    assert "apt-get install rust-doc" in capsys.readouterr().out


@pytest.mark.parametrize(("least", "is_told"), [(91.0, False), (89.0, True)])
def test_a_run_far_below_the_median_is_told(least, is_told):
    said = speed_scenes.summary([(100.0, 2.0), (least, 4.0), (101.0, 3.0)])

    assert said.startswith(f"100 pages a second (median of 3), {least:.0f} at least, 3.00 ms")
    assert ("below 0.9 of the median" in said) is is_told


def imported_by(path: Path) -> set[str]:
    """Modules, or what is in them, of benchmarks."""
    nodes = [
        node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.ImportFrom)
    ]
    ours = [node for node in nodes if (node.module or "").startswith("benchmarks")]
    return {f"{node.module}.{each.name}" for node in ours for each in node.names} | {
        str(node.module) for node in ours
    }


def test_benchmarks_import_each_other_without_a_circle_and_the_scene_no_benchmark():
    root = Path(benchmarks.__file__).parent
    paths = {
        ".".join(("benchmarks", *path.relative_to(root).with_suffix("").parts)): path
        for path in root.rglob("*.py")
    }
    graph = {name: imported_by(path) & paths.keys() for name, path in paths.items()}

    TopologicalSorter(graph).prepare()  # raises for a circle
    assert {
        below
        for name, belows in graph.items()
        if name.startswith("benchmarks.scene.")
        for below in belows
        if not below.startswith(("benchmarks.scene.", "benchmarks.timer"))
    } == set()
