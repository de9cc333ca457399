"""Checkpoints are taken in turn, and by hand from page or program; the last few are kept."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from django.utils import timezone

from crawling.checkpoints.checkpoint_store import ask_checkpoint, ask_for_due, take_asked
from crawling.checkpoints.directory import read_manifest
from crawling.crawls.creation import create_crawl
from crawling.errors import CheckpointTrouble
from crawling.models import Checkpoint, Run
from crawling.runs.start import start_run


@pytest.fixture
def run(order, settings, tmp_path):
    """A run that has been at work for two hours, and a place for its checkpoints."""
    settings.CHECKPOINT_DIR, settings.CHECKPOINTS_KEPT = tmp_path / "checkpoints", 2
    run = start_run(create_crawl(order("http://127.0.0.1:8900/")))
    Run.objects.update(started_at=timezone.now() - timedelta(hours=2), state="running")
    return run


def test_one_is_taken_every_hour_and_the_last_two_are_kept(run, settings):
    for _ in range(3):
        ask_for_due()
        ask_for_due()  # one is on its way already
        take_asked(Checkpoint.objects.get(taken_at=None).pk)
        Checkpoint.objects.update(asked_at=timezone.now() - timedelta(minutes=61))

    rows = list(run.checkpoints.all())
    assert len(rows) == 2
    assert {row.directory for row in rows} == {
        str(path) for path in settings.CHECKPOINT_DIR.iterdir()
    }
    assert [(row.urls, row.by, row.trouble) for row in rows] == [(1, None, "")] * 2
    assert read_manifest(settings.CHECKPOINT_DIR / rows[0].directory).run["state"] == "running"


def test_one_that_cannot_be_written_says_why_and_leaves_nothing(run, settings):
    settings.CHECKPOINT_DIR.parent.joinpath("file").write_text("")
    settings.CHECKPOINT_DIR = settings.CHECKPOINT_DIR.parent / "file"
    checkpoint = ask_checkpoint(run)
    take_asked(checkpoint.pk)

    checkpoint.refresh_from_db()
    assert "File exists" in checkpoint.trouble
    assert checkpoint.taken_at is None


def test_without_a_place_none_is_taken_and_whoever_asks_is_told(run, settings):
    settings.CHECKPOINT_DIR = None
    ask_for_due()

    assert not Checkpoint.objects.exists()
    with pytest.raises(CheckpointTrouble, match="CHECKPOINT_DIR"):
        ask_checkpoint(run)


def test_the_page_takes_one_and_shows_it(run, client):
    client.force_login(User.objects.create_superuser("olga"))
    page = f"/crawls/{run.crawl_id}/checkpoints/"
    assert "in progress" in client.post(page, follow=True).content.decode()
    take_asked(Checkpoint.objects.get().pk)

    shown = client.get(page).content.decode()
    assert Checkpoint.objects.get().directory in shown
    assert "olga" in shown
