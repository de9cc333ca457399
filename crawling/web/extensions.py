"""Points at which installed packages extend the crawler by entry points.

The crawler's own parts are also entry points, and are loaded in the same way.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from importlib.metadata import EntryPoint, entry_points
from typing import Any, Generic, TypeVar

logger = logging.getLogger(__name__)

Part = TypeVar("Part")


class BadExtension(Exception):
    """An entry point names an object that does not fit its place; the message says why."""


@dataclass(frozen=True, slots=True)
class Extension:
    #: the group of the entry point
    group: str
    name: str
    package: str
    version: str
    #: the reason why the part is not available; empty if it is
    fault: str = ""

    @property
    def kind(self) -> str:
        """The kind of the part: the last word of the group."""
        return self.group.rpartition(".")[2].removesuffix("s").replace("_", " ")

    @property
    def sentence(self) -> str:
        """The fault of an unavailable extension, and the remedy."""
        return (
            f"{self.name} of the package {self.package} {self.version} is not available "
            f"({self.fault}); repair, update or install the package on every machine, and start "
            "the processes again"
        )


class ExtensionPoint(Generic[Part]):
    """Parts of one kind, by name: the crawler's own, and those of packages.

    Packages are looked up once in the life of a process, when a part is first needed.

    adopt: makes a part from a name, the object that an entry point names, and the parts so far.
    Raises BadExtension.
    """

    def __init__(
        self,
        group: str,
        built_in: Mapping[str, str],
        adopt: Callable[[str, Any, Mapping[str, Part]], Part],
    ) -> None:
        self.group, self._built_in, self._adopt = group, built_in, adopt

    def get(self, name: str) -> Part | None:
        return self.parts.get(name)

    @property
    def parts(self) -> Mapping[str, Part]:
        """All available parts, by name, the crawler's own first."""
        return self._parts_and_extensions[0]

    @property
    def extensions(self) -> list[Extension]:
        """The entry points of packages, with the fault of each."""
        return self._parts_and_extensions[1]

    def fault_of(self, name: str) -> str:
        """The reason why a part is not available although a package has it; empty if no package has
        it.
        """
        faulty = (one for one in self.extensions if one.name == name and one.fault)
        return next((one.sentence for one in faulty), "")

    @cached_property
    def _parts_and_extensions(self) -> tuple[dict[str, Part], list[Extension]]:
        parts: dict[str, Part] = {}
        for name, place in self._built_in.items():
            parts[name] = self._adopt(name, EntryPoint(name, place, self.group).load(), parts)
        found = [self._add_part(parts, point) for point in entry_points(group=self.group)]
        return parts, sorted(found, key=lambda one: (one.name, one.package))

    def _add_part(self, parts: dict[str, Part], point: EntryPoint) -> Extension:
        """Add a part of a package. All errors of its code are caught here."""
        package, version = (point.dist.name, point.dist.version) if point.dist else ("", "")
        try:
            if point.name in parts:
                raise BadExtension("the name belongs to another part already")
            parts[point.name] = self._adopt(point.name, point.load(), parts)
        except BadExtension as error:
            fault = str(error)
        except (Exception, SystemExit) as error:
            fault = f"{type(error).__name__}: {error}"[:300]
        else:
            return Extension(self.group, point.name, package, version)
        extension = Extension(self.group, point.name, package, version, fault)
        logger.warning("an extension is not available: %s", extension.sentence)
        return extension
