"""The positive region: names that answered, and quickly (SEEDS D4-D8)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from dnscache.protocol.names import Levels, levels_below, levels_of
from dnscache.regions.entry import CachedAnswer, Region
from dnscache.regions.tree import TreeNode, row


class Table2(Mapping[str, CachedAnswer]):
    """Those of the flat dictionary that lie in this region."""

    def __init__(self, entries: Mapping[str, CachedAnswer]) -> None:
        self._entries = entries

    def __getitem__(self, name: str) -> CachedAnswer:
        entry = self._entries[name]
        if entry.region is not Region.FORWARD:
            raise KeyError(name)
        return entry

    def __iter__(self) -> Iterator[str]:
        return (name for name, entry in self._entries.items() if entry.region is Region.FORWARD)

    def __len__(self) -> int:
        return sum(1 for _ in self)


class ForwardRegion:
    """Table 1, a tree under each registered name, and table 2.

    `table1` maps a registered name to the first node of its row of second-level names (the patent's
    mapping 1); the registered name itself stands in that row, too, so that it has a place for its
    address. `table2` maps every full name, at whatever level, to its answer (mapping 2): a
    third-level name need not share its parent's address. It is no table of its own, which would
    take 50 bytes a name, but a view of the flat dictionary `entries`, which the cache space writes.
    """

    def __init__(self, entries: Mapping[str, CachedAnswer]) -> None:
        self._entries = entries
        self.table1: dict[str, TreeNode] = {}
        self.table2 = Table2(entries)
        self.third_level: set[str] = set()
        # second-level names that only have names below them
        self._parents: dict[str, TreeNode] = {}

    def add(self, entry: CachedAnswer, first: str = "") -> None:
        """Hang the answer in the tree, in place of an older one that `entries` still has; `first`
        spares finding the registered name.
        """
        older: TreeNode | None = self.table2.get(entry.name) or self._parents.pop(entry.name, None)
        if older is not None:
            self._replace(older, entry)
            return
        levels = levels_below(first, entry.name) if first else levels_of(entry.name)
        if levels.third:
            self.third_level.add(entry.name)
            self._parent(levels).hang_left(entry)
        else:
            self._hang_in_row(levels.first, entry)

    def remove(self, entry: CachedAnswer) -> None:
        """Take an answer out of the tree; a second-level name with others below it stays there,
        without an answer.
        """
        if entry.left is not None:
            node = self._parents[entry.name] = TreeNode(entry.name)
            self._replace(entry, node)
            return
        levels = levels_of(entry.name)
        parent = self._parents.get(levels.second) if levels.third else None
        self.third_level.discard(entry.name)
        self._unhang(levels.first, entry)
        if parent is not None and parent.left is None:
            del self._parents[parent.name]
            self._unhang(levels.first, parent)

    def below(self, second: str) -> Iterator[TreeNode]:
        """The third-level names under a second-level one: its left branch, then always right."""
        node = self.table2.get(second) or self._parents.get(second)
        return row(node.left if node else None)

    def cut(self, *, most: int, quantile: float = 0.5) -> list[str]:
        """Name the third-level answers that must go (SEEDS D8): none up to `most`, else those last
        used before the quantile.

        With the patent's middle value, 0.5, half of them go at once. Names used at the very moment
        of the cut stay.
        """
        if len(self.third_level) <= most:
            return []
        used = sorted(self._entries[name].last_access for name in self.third_level)
        limit = used[int(quantile * len(used))]
        return [name for name in self.third_level if self._entries[name].last_access < limit]

    def _parent(self, levels: Levels) -> TreeNode:
        node = self.table2.get(levels.second) or self._parents.get(levels.second)
        if node is None:
            node = self._parents[levels.second] = TreeNode(levels.second)
            self._hang_in_row(levels.first, node)
        return node

    def _hang_in_row(self, first: str, node: TreeNode) -> None:
        if first in self.table1:
            self.table1[first].hang_right(node)
        else:
            self.table1[first] = node

    def _unhang(self, first: str, node: TreeNode) -> None:
        if self.table1.get(first) is node:
            if node.right is None:
                del self.table1[first]
            else:
                self.table1[first] = node.right
        node.take_out()

    def _replace(self, older: TreeNode, newer: TreeNode) -> None:
        """Only the head of a row, `before` nothing, is known to table 1."""
        if older.before is None:
            self.table1[levels_of(older.name).first] = newer
        older.take_out(heir=newer)
