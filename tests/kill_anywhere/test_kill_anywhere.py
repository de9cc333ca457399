"""Kill -9 of anything at any moment: each crawl ends with the pages of an undisturbed one, each
once, and nothing stays held.
"""

from __future__ import annotations

import shutil
import tempfile
from contextlib import ExitStack
from pathlib import Path
from random import Random

import pytest

from tests.crawlsite.programs import eventually_moving
from tests.kill_anywhere.judging import judge_archive, judge_bank, judge_pages
from tests.kill_anywhere.stage import VICTIMS, Stage, prepare, staged
from tests.webs.synthetic import ServedWeb, SyntheticWeb, serve_web


@pytest.fixture
def short_place():
    """A directory whose name is short enough for a socket's."""
    path = Path(tempfile.mkdtemp(prefix="cs-")).resolve()
    path.chmod(0o755)
    yield path
    shutil.rmtree(path)


@pytest.fixture(scope="session")
def prepared():
    place = Path(tempfile.mkdtemp(prefix="cs-")).resolve()
    place.chmod(0o755)
    prepare(place / "state")
    yield place / "state"
    shutil.rmtree(place)


def asked(webs: list[ServedWeb]) -> int:
    return sum(served.count_requests() for served in webs)


def kill_some(stage: Stage, webs: list[ServedWeb], chance: Random, victims: list[str]) -> None:
    """Kill each of them once, at moments spread by chance over the requests that the webs have
    still to answer.
    """
    wanted = sum(len(served.expected()) for served in webs)
    moments = sorted(chance.sample(range(1, int(wanted * 0.9)), len(victims)))
    for moment, victim in zip(moments, victims, strict=True):
        eventually_moving(lambda moment=moment: asked(webs) >= moment, lambda: asked(webs), 150)
        if not stage.kill(victim, chance):  # no process had a shift at that moment
            stage.kill("scheduler", chance)


@pytest.mark.timeout(400)  # 20 s alone, and more than 100 among others on a slow machine
def test_three_small_crawls_survive_the_deaths_of_a_worker_of_postgresql_and_of_valkey(
    prepared, short_place
):
    """At once, because what takes time is to start the product, and each of the deaths hits all
    three.
    """
    chance = Random(1)
    with staged(prepared, short_place / "state") as stage, ExitStack() as stack:
        webs = [
            stack.enter_context(
                serve_web(SyntheticWeb(seed, hosts=2, width=6, first_host=10 * seed))
            )
            for seed in (1, 2, 3)
        ]
        orders = ("breadth_first", "depth_first", "breadth_first")
        stage.crawl(
            {
                f"web {n}": {"seeds": served.seeds, "order": order}
                for n, (served, order) in enumerate(zip(webs, orders, strict=True))
            }
        )
        kill_some(stage, webs, chance, ["worker and work process", "postgres", "valkey"])
        stage.await_end()

        for number, served in enumerate(webs):
            judge_pages(stage, f"web {number}", served)
            judge_archive(stage, f"web {number}")
        judge_bank(stage)


@pytest.mark.drill
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("seed", range(20))
def test_a_crawl_survives_whatever_is_killed(prepared, short_place, seed):
    chance = Random(seed)
    web = SyntheticWeb(
        seed,
        hosts=chance.randint(1, 6),
        width=chance.randint(20, 60),
        degree=chance.randint(4, 12),
        depth=chance.randint(3, 8),
        error_percent=chance.randint(0, 20),
        slow_percent=chance.randint(0, 10),
    )
    with staged(prepared, short_place / "state") as stage, serve_web(web) as served:
        processes, batch_size = chance.randint(1, 2), chance.choice((1, 20, 100))
        stage.crawl(
            {"web": {"seeds": served.seeds, "processes": processes, "batch_size": batch_size}}
        )
        kill_some(stage, [served], chance, chance.choices(VICTIMS, k=chance.randint(2, 4)))
        stage.await_end()

        judge_pages(stage, "web", served)
        judge_archive(stage, "web")
        judge_bank(stage)
