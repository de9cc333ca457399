"""Reads of the live cache: over Redis, pages and programs ask the pre-resolvers for the contents of
their tables.

A cache lives in the memory of a pre-resolver, of which each machine has one. A question is
published to all of them; each one looks through its own table 1 and trees, and puts its answer into
a list that only this question names. Answers are not stored: one that is not read expires.
"""

from __future__ import annotations

import json
import logging
import threading
import time
from typing import Any
from uuid import uuid4

import django_rq
from redis import Redis
from redis.client import PubSub
from redis.exceptions import RedisError

from dnscache.answer_cache import AnswerCache
from dnscache.regions.entry import CachedAnswer

logger = logging.getLogger(__name__)

#: the time that a page waits for caches that are slow or not connected
PATIENCE_SECONDS = 2.0
#: the time after which an unread answer is deleted
KEPT_SECONDS = 10
#: the longest time until a cache notices that it is to end, or tries again after Redis was
#: unreachable
LOOK_SECONDS = 1.0
#: the most names of a domain in an answer; a domain with a wildcard can have any number
MOST_NAMES = 1000


class CacheReadServer:
    """Answers reads of one process's cache, in a thread of its own."""

    def __init__(self, machine: str, memory: AnswerCache) -> None:
        self._machine, self._memory = machine, memory
        self._ending = threading.Event()
        self._thread = threading.Thread(
            target=self._serve_until_closed, name="cache-reads", daemon=True
        )

    def start(self) -> None:
        self._thread.start()

    def close(self) -> None:
        self._ending.set()
        self._thread.join()

    def _serve_until_closed(self) -> None:
        while not self._ending.is_set():
            try:
                redis = _redis()
                # redis-py has no types for this
                with redis.pubsub(ignore_subscribe_messages=True) as questions:  # type: ignore[no-untyped-call]
                    questions.subscribe(_channel(redis))
                    self._serve_questions(redis, questions)
            except RedisError as error:
                logger.warning("the cache cannot be read", extra={"error": str(error)})
                self._ending.wait(LOOK_SECONDS)

    def _serve_questions(self, redis: Redis, questions: PubSub) -> None:
        while not self._ending.is_set():
            message = questions.get_message(timeout=LOOK_SECONDS)
            if message is None:
                continue
            question = json.loads(message["data"])
            key = question.pop("reply_to")
            told = {"machine": self._machine, **self._answer_question(**question)}
            with redis.pipeline() as pipe:
                pipe.rpush(key, json.dumps(told))
                pipe.expire(key, KEPT_SECONDS)
                pipe.execute()

    def _answer_question(
        self, *, domain: str = "", text: str = "", after: str = "", most: int = 0
    ) -> dict[str, Any]:
        if domain:
            return _domain_answer(self._memory, domain)
        found = self._memory.registered_names(text=text, after=after, most=most)
        return {"packed": self._memory.packed, "domains": found}


def query_caches(**question: str | int) -> list[dict[str, Any]]:
    """Return the contents of each live cache, in the alphabetical order of machines: the tree of a
    `domain`, or up to `most` registered names after `after` that contain `text`.

    The list is empty if no pre-resolver is running, or Redis cannot be reached.
    """
    key = f"dns/reads/{uuid4().hex}"
    told: list[dict[str, Any]] = []
    until = time.monotonic() + PATIENCE_SECONDS
    try:
        redis = _redis()
        receivers = redis.publish(_channel(redis), json.dumps({"reply_to": key, **question}))
        while len(told) < receivers and (left := until - time.monotonic()) > 0:
            if answer := redis.blpop([key], timeout=left):
                told.append(json.loads(answer[1]))
    except RedisError as error:
        logger.warning("the caches cannot be asked", extra={"error": str(error)})
    return sorted(told, key=lambda one: str(one["machine"]))


def _domain_answer(memory: AnswerCache, first: str) -> dict[str, Any]:
    """The tree under a registered name, with the registered name itself before the second level;
    and its names in the negative region, those of most weight first.
    """
    branches, hard = memory.answers_below(first)
    branches.sort(key=lambda branch: (branch[0].name != first, branch[0].name))
    told: list[dict[str, Any]] = []
    left = MOST_NAMES
    for second, below in branches:
        if left == 0:
            break
        entry = _leaf_facts(second) if isinstance(second, CachedAnswer) else None
        shown = sorted(below, key=lambda node: node.name)[: left - 1]
        told.append({"name": second.name, "entry": entry, "below": [*map(_leaf_facts, shown)]})
        left -= 1 + len(shown)
    known = sum(1 + len(below) for _, below in branches) + len(hard)
    reverse = [_leaf_facts(entry) for entry in hard[:MOST_NAMES]]
    not_shown = known - (MOST_NAMES - left) - len(reverse)
    return {"branches": told, "reverse": reverse, "not_shown": not_shown}


def _leaf_facts(entry: CachedAnswer) -> dict[str, Any]:
    return {
        "name": entry.name,
        "status": entry.status,
        "addresses": entry.addresses,
        "ttl": entry.ttl,
        "expires_at": entry.fresh_until,
        "last_access": entry.last_access,
    }


def _redis() -> Redis:
    return django_rq.get_connection("background")


def _channel(redis: Redis) -> str:
    """The name of the channel. It contains the number of the database, since all databases of a
    Redis share the channels, but each belongs to one installation.
    """
    return f"dns/reads/{redis.connection_pool.connection_kwargs.get('db', 0)}"
