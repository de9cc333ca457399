"""The costs that docs/ has measured, as resources of a network. What nobody has measured is an
assumption, and its source says so.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from benchmarks.simulation.network import Resource

BUDGET = "docs/budget.md"
POSTGRESQL, COMMITS, POOL, SCHEDULER, VALKEY = (
    "PostgreSQL's processor",
    "commits to its disk",
    "the pool's lock",
    "scheduler",
    "Valkey",
)
DATABASE = {POSTGRESQL, COMMITS}
#: ms under the pool's lock: a grant and its release with real commits, of 100 processes
#: (figures 16); while 10,000 wait (figures 47), a release and a granted stage, middles of ranges
PAIR, RELEASE_IN_LINE, STAGE_IN_LINE = 1.36, 20.0, 149.0
#: ms of the scheduler a shift: of crawls of three pages (decision 145)
SCHEDULED = 10.0
#: ms of waiting for the disk a commit (figures 16: 0.40 a pair); commits that share a write of the
#: log would take less
COMMIT = 0.2
#: times the cost of a record among ten thousand URLs, among ten million (decision 143)
GROWTH = 3.3
#: bytes of WAL a page (decision 143: 18 GB, of which 12 are whole pages, for 2.8 million pages)
WAL_LEAST, WAL_MOST = 6e9 / 2.8e6, 18e9 / 2.8e6
#: bytes of PostgreSQL a page (decision 143: 8.0 GB, six million pages among ten million URLs)
STORED = 8.0e9 / 6e6
#: sessions that the embedded server allows (crawlsite/services/postgres.py)
SESSIONS = 200


@dataclass(frozen=True)
class Scene:
    name: str
    cycle: float  # ms a page of one worker, from its measured pages a second
    resources: tuple[Resource, ...]
    readings: float | None = None  # ms a page of second readings (docs/budget.md), if measured

    @property
    def think(self) -> float:
        """ms a page outside the shared resources, so that one worker has its measured rate"""
        return self.cycle - sum(each.demand for each in self.resources)


@dataclass(frozen=True)
class Clocked:
    """What each worker asks of a single server once in a period, however many pages it fetches."""

    name: str
    cost: float  # ms
    period: float  # ms
    source: str
    copies: int = 1

    @property
    def most(self) -> float:
        """workers that keep the server busy without a pause"""
        return self.copies * self.period / self.cost


#: shifts of 600 s while nobody waits, of 60 s while others do (docs/settings.md); with two grants
#: each, of its start and of its archive writer, which is an assumption
CLOCKED = (
    Clocked(f"{POOL}, nobody waits", 2 * PAIR, 600_000, "figures 16"),
    Clocked(f"{POOL}, nobody waits, shifts of 60 s", 2 * PAIR, 60_000, "figures 16"),
    Clocked(f"{POOL}, 10,000 wait", RELEASE_IN_LINE + STAGE_IN_LINE, 60_000, "figures 47"),
    Clocked(f"{SCHEDULER}, nobody waits", SCHEDULED, 600_000, "decision 145"),
    Clocked(f"{SCHEDULER}, others wait", SCHEDULED, 60_000, "decision 145"),
)


def _long(name: str, rate: float, postgresql: float, statements: float, valkey: float) -> Scene:
    """A crawl of long shifts. What they ask once a shift is in CLOCKED."""
    return Scene(
        name,
        1000 / rate,
        (
            Resource(POSTGRESQL, postgresql, BUDGET),
            Resource(COMMITS, COMMIT * statements, "figures 16; a commit a statement is a bound"),
            Resource(VALKEY, valkey, f"{BUDGET}, rounded up"),
        ),
        {"light": 3.14, "heavy": 11.0}.get(name),
    )


def _grown(scene: Scene) -> Scene:
    """The same among ten million URLs, if all work of PostgreSQL grows as its records do. The
    worker's own time stays as it is.
    """
    resources = tuple(
        replace(each, demand=GROWTH * each.demand, source=f"{each.source} and decision 143")
        if each.name == POSTGRESQL
        else each
        for each in scene.resources
    )
    more = sum(each.demand for each in resources) - sum(each.demand for each in scene.resources)
    return replace(
        scene, name=f"{scene.name}, 10 million URLs", cycle=scene.cycle + more, resources=resources
    )


#: crawls of three pages (decision 145), with two workers: a shift takes 169 ms, and the next begins
#: 66 ms later (median). Nobody has counted the commits of such a shift, so they are left out.
_SMALL = Scene(
    "crawls of three pages",
    (169 + 66) / 3,
    (
        Resource(POSTGRESQL, 40 / 3, "decision 145"),
        Resource(POOL, 2 * PAIR / 3, "figures 16; two grants a shift are assumed"),
        Resource(SCHEDULER, SCHEDULED / 3, "decision 145"),
    ),
    10 / 3,
)
_LIGHT = _long("light", 511, 0.30, 0.3, 0.005)
SCENES = (
    _LIGHT,
    _grown(_LIGHT),
    _long("heavy", 202, 0.58, 0.5, 0.02),
    _long("many hosts", 366, 0.70, 0.3, 0.005),
    _SMALL,
)


def with_cores(scene: Scene, cores: int) -> Scene:
    """PostgreSQL on a machine of its own, whose cores share the work evenly: an assumption."""
    return _changed(scene, {POSTGRESQL}, servers=cores)


def with_pools(scene: Scene, shards: int) -> Scene:
    return _changed(scene, {POOL}, copies=shards)


def with_databases(scene: Scene, count: int) -> Scene:
    """Hosts placed by hash on so many databases, each with a pool and a scheduler of its own."""
    return _changed(scene, DATABASE | {POOL, SCHEDULER}, copies=count)


def with_batches(scene: Scene, times: int) -> Scene:
    """Batches so many times larger. Only commits become fewer: what rows cost is not shared."""
    resources = tuple(
        replace(each, demand=each.demand / times) if each.name == COMMITS else each
        for each in scene.resources
    )
    saved = sum(each.demand for each in scene.resources) - sum(each.demand for each in resources)
    return replace(scene, cycle=scene.cycle - saved, resources=resources)


def _changed(scene: Scene, names: set[str], servers: int = 1, copies: int = 1) -> Scene:
    """The scene with so many times the servers and copies of what is named."""
    resources = tuple(
        replace(each, servers=each.servers * servers, copies=each.copies * copies)
        if each.name in names
        else each
        for each in scene.resources
    )
    return replace(scene, resources=resources)
