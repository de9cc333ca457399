"""The states of a run: the rules, and runs that are led through them by chance."""

from __future__ import annotations

from collections import Counter
from random import Random

import pytest

from allocation.models import Conservation, Process
from crawling.base.errors import WrongState
from crawling.dashboard.base.crawl_views import crawl_view
from crawling.models import Run, RunProcess
from crawling.models.jobs import ENDED_STATES, WORKING_STATES, RunState
from crawling.runs.crawls.creation import create_crawl
from crawling.runs.shift_lifecycle import begin_shift, end_shift, settle_ended_shift
from crawling.runs.start import start_run
from crawling.runs.transitions import ACTIONS, ENDING, loss_sentence, possible_actions, state_after
from crawling.runs.verbs import VERBS

SEEDS = [f"http://127.0.0.1:8900/{number}" for number in range(5)]
DO = {word: VERBS[word].do for word in ACTIONS}


@pytest.mark.parametrize("state", RunState)
def test_pages_offer_what_the_rules_allow_and_nothing_else(state):
    offered = set(possible_actions(state, queued=1)) - {"start"}

    assert offered == {word for word in ACTIONS if state_after(word, state)}
    assert ("start" in possible_actions(state, queued=1)) == (state in ENDED_STATES)


@pytest.mark.parametrize("state", RunState)
def test_no_state_is_a_dead_end(state):
    """Whatever state a run with a queue is in, it can be ended, and fetch again after that."""
    ended = state if state in ENDED_STATES else state_after("abort", state)

    assert ended in ENDED_STATES
    assert state_after("resume", ended) in WORKING_STATES


@pytest.mark.parametrize("state", ENDED_STATES)
def test_a_run_with_an_empty_queue_is_only_run_again(state):
    assert possible_actions(state, queued=0) == ["start"]


def test_a_run_that_is_being_aborted_offers_nothing():
    assert possible_actions("stopping", queued=9, is_aborting=True) == []


def test_a_waiting_run_offers_what_a_queued_one_does():
    assert possible_actions("waiting", queued=9) == possible_actions("queued", queued=9)


def test_the_question_counts_what_is_kept_and_what_is_lost():
    assert loss_sentence("stop", queued=1758, in_hand=1) == (
        "1,758 queued URLs and all pages are kept, 1 fetch under way is finished first, and "
        "nothing more is fetched until the run is resumed, which is possible until the crawl is "
        "run again."
    )
    assert loss_sentence("stop", queued=0, in_hand=0).endswith("the run cannot be resumed.")
    assert "3 fetches under way are lost and queued again" in loss_sentence(
        "abort", queued=1, in_hand=3
    )


def by_chance(run: Run, chance: Random) -> tuple[str, RunState | None]:
    """Do something to the run, and return what; with the state that the rules then promise."""
    word = chance.choice([*DO, "work"])
    state = RunState(Run.objects.get(pk=run.pk).state)
    if word == "work":
        return word, RunState.QUEUED if work(run) else None
    try:
        DO[word](run.crawl)
    except WrongState:
        assert state_after(word, state) is None, f"{word} was refused to a {state} run"
        return word, state
    assert state_after(word, state), f"{word} was allowed to a {state} run"
    return word, state_after(word, state)


def work(run: Run) -> bool:
    """Let a shift come and go without fetching anything; whether there was one."""
    process = RunProcess.objects.select_related("run__crawl", "bank_process").get(run=run)
    bank = process.bank_process
    shift = begin_shift(process, epoch=bank.epoch, worker="") if bank.holding else None
    if shift is None:
        return False
    end_shift(shift, "its time slice is over")
    settle_ended_shift(process, epoch=bank.epoch, worker="")
    return True


@pytest.mark.parametrize("seed", range(8))
def test_whatever_is_done_to_a_run_it_is_in_the_promised_state_with_all_its_urls(order, seed):
    chance = Random(seed)
    run = start_run(create_crawl(order(*SEEDS)))
    done: Counter[str] = Counter()

    for _ in range(25):
        word, promised = by_chance(run, chance)
        done[word] += 1
        run = Run.objects.select_related("crawl").get(pk=run.pk)
        if promised is not None:
            assert run.state in {promised, RunState.RUNNING if word == "work" else promised}, word
        assert crawl_view(run.crawl).counts.queued == len(SEEDS)
        assert (run.finished_at is not None) == (run.state in ENDED_STATES)
        is_in_the_bank = Process.objects.filter(state="active").exists()
        assert is_in_the_bank == (run.state not in ENDED_STATES)
        assert not [row for row in Conservation.objects.all() if row.difference]

    assert len(done) > 3
    assert Run.objects.count() == 1
    assert set(ENDING) <= set(DO)
