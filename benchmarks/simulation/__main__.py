"""Simulate more workers than were ever measured, from the costs in docs/: which resource saturates
first, at how many workers, and what each remedy changes.

Nothing here was checked against runs of several machines.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from benchmarks.report import Table, options
from benchmarks.simulation import costs
from benchmarks.simulation.costs import SCENES, Scene, with_cores
from benchmarks.simulation.network import saturation, solve

#: each alone
REMEDIES: tuple[tuple[str, Callable[[Scene], Scene]], ...] = (
    ("as it is", lambda scene: scene),
    ("batches ten times larger", lambda scene: costs.with_batches(scene, 10)),
    ("four pools", lambda scene: costs.with_pools(scene, 4)),
    ("8 databases by host, with pool and scheduler", lambda scene: costs.with_databases(scene, 8)),
    (
        "64 databases by host, with pool and scheduler",
        lambda scene: costs.with_databases(scene, 64),
    ),
)


def main() -> None:
    chosen = options(__doc__, workers=[1, 2, 4, 16, 64, 200, 1000], cores=16, pages=15e9)
    scenes = [with_cores(scene, chosen.cores) for scene in SCENES]
    _print_costs(scenes)
    _print_rates(scenes, chosen.workers, chosen.pages)
    _print_remedies(scenes, max(chosen.workers), chosen.pages)
    print()
    table = Table("workers", "4 pools or databases", "keep it busy without a pause")
    for each in costs.CLOCKED:
        table.row(each.most, replace(each, copies=4).most, each.name)
    print(f"\nSessions: at one a worker, {costs.SESSIONS} workers are the most.")
    print(f"PostgreSQL for {chosen.pages:,.0f} pages: {chosen.pages * costs.STORED / 1e12:.0f} TB.")


def _print_costs(scenes: list[Scene]) -> None:
    for scene in scenes:
        print(f"\n{scene.name}: {scene.cycle:.2f} ms a page with one worker")
        table = Table("ms a page", "what takes it, and the source")
        for each in scene.resources:
            table.row(each.demand, f"{each.name}; {each.source}")
    print("\nasked once a shift")
    table = Table("ms", "what takes it, and the source")
    for asked in costs.CLOCKED:
        table.row(asked.cost, f"{asked.name}; {asked.source}")


def _print_rates(scenes: list[Scene], workers: list[int], pages: float) -> None:
    for scene in scenes:
        print(f"\n{scene.name}")
        table = Table("workers", "pages/s", "days", "wait ms", "MB/s WAL", "readers", "most used")
        for count in workers:
            found = solve(scene.think, scene.resources, count)
            per_second = 1000 * found.rate
            used, name = max(
                zip(found.utilisations, (each.name for each in scene.resources), strict=True)
            )
            table.row(
                count,
                per_second,
                pages / per_second / 86_400,
                found.response,
                per_second * costs.WAL_MOST / 1e6,
                "-" if scene.readings is None else found.rate * scene.readings,
                f"{name}, {used:.0%}",
            )


def _print_remedies(scenes: list[Scene], workers: int, pages: float) -> None:
    for scene in scenes:
        print(f"\n{scene.name}, {workers:,} workers")
        table = Table("sat. at", "pages/s", "days", "first, remedy")
        for name, remedy in REMEDIES:
            helped = remedy(scene)
            if helped == scene and (name, remedy) != REMEDIES[0]:
                continue
            size, first = saturation(helped.think, helped.resources)
            per_second = 1000 * solve(helped.think, helped.resources, workers).rate
            table.row(size, per_second, pages / per_second / 86_400, f"{first.name}; {name}")


if __name__ == "__main__":
    main()
