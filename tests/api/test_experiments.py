"""`/api/v1/experiments`: start an experiment, and read it."""

from __future__ import annotations

import pytest

from crawling.jobs.running import run_in_this_process
from experiments import store
from experiments.models import Experiment

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def viewer(programs):
    return programs["viewer"]


def test_an_experiment_is_started_with_what_is_left_out_as_the_paper_had_it(operator):
    status, told = operator("POST", "experiments", {"policy": "banker", "seed": 3})

    assert status == 201
    assert (told["requests"], told["bound_seconds"], told["seed"], told["policies"]) == (
        100,
        8.0,
        3,
        ["banker"],
    )
    assert (told["state"], told["by"]) == ("queued", "operator")


@pytest.mark.parametrize(
    "wrong",
    [
        {"kind": "runs"},
        {"requests": 0},
        {"policy": "best"},
        {"bound_seconds": 0},
        {"seed": -1},
        {"sed": 1},
    ],
)
def test_what_is_wrong_is_told_by_field_and_starts_nothing(operator, wrong):
    status, told = operator("POST", "experiments", wrong)

    assert (status, list(told["errors"])) == (422, list(wrong)[:1])
    assert not Experiment.objects.exists()


def test_an_experiment_is_read_with_every_request_and_listed_without(viewer):
    experiment = store.make_experiment(
        requests=2, bound_seconds=5, seed=1, policies=["all_at_once"]
    )
    run_in_this_process(experiment.job)

    told = viewer.get(f"experiments/{experiment.pk}")
    listed = viewer.get("experiments")

    (result,) = told["results"]
    assert [request["label"] for request in result["requests"]] == [
        "Completed:Request1",
        "Completed:Request2",
    ]
    del result["requests"]
    assert listed == {"items": [told], "next": None}


def test_the_list_comes_in_pages_from_the_newest_on(viewer):
    experiments = [
        store.make_experiment(requests=1, bound_seconds=1, seed=1, policies=["naive"]).pk
        for _ in range(3)
    ]

    first = viewer.get("experiments?limit=2")
    rest = viewer.get(f"experiments?limit=2&cursor={first['next']}")

    assert [one["id"] for one in first["items"] + rest["items"]] == experiments[::-1]
    assert rest["next"] is None


def test_an_experiment_on_shifts_is_refused_by_field_or_without_a_scheduler(operator):
    status, told = operator(
        "POST", "experiments", {"kind": "shifts", "policy": "all_at_once", "requests": 41}
    )
    assert (status, list(told["errors"])) == (422, ["policy", "requests"])

    status, told = operator("POST", "experiments", {"kind": "shifts"})
    assert status == 409
    assert "No scheduler runs" in told["detail"]
    assert not Experiment.objects.exists()


def test_an_experiment_is_cancelled_once(operator):
    pk = operator("POST", "experiments", {"kind": "threads"})[1]["id"]

    status, told = operator("POST", f"experiments/{pk}/cancel")
    assert (status, told["state"], told["cancelled_by"]) == (200, "cancelled", "operator")
    assert operator("POST", f"experiments/{pk}/cancel")[0] == 409
    assert operator("POST", "experiments/999999/cancel")[0] == 404


def test_an_experiment_that_never_was_is_not_found(viewer):
    assert viewer("GET", "experiments/999999")[0] == 404
