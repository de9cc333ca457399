"""The positive region: names that answered, and quickly (SEEDS D4-D8)."""

from __future__ import annotations

from collections.abc import Iterator

from dnscache.regions.entry import Entry
from dnscache.regions.levels import Levels, levels_below, levels_of
from dnscache.regions.tree import TreeNode, row


class ForwardRegion:
    """Table 1, a tree under each registered name, and table 2.

    `table1` maps a registered name to the first node of its row of second-level names (the patent's mapping 1); the registered
    name itself stands in that row, too, so that it has a place for its address. `table2` maps every full name, at whatever
    level, to its answer (mapping 2): a third-level name need not share its parent's address.
    """

    def __init__(self) -> None:
        self.table1: dict[str, TreeNode] = {}
        self.table2: dict[str, Entry] = {}
        self.third_level: set[str] = set()
        self._parents: dict[str, TreeNode] = {}  # second-level names that only have names below them

    def add(self, entry: Entry, first: str = "") -> None:
        """Put the answer into table 2 and the tree, in place of an older one; `first` spares finding the registered name."""
        older: TreeNode | None = self.table2.get(entry.name) or self._parents.pop(entry.name, None)
        self.table2[entry.name] = entry
        if older is not None:
            self._replace(older, entry)
            return
        levels = levels_below(first, entry.name) if first else levels_of(entry.name)
        if levels.third:
            self.third_level.add(entry.name)
            self._parent(levels).hang_left(entry)
        else:
            self._hang_in_row(levels.first, entry)

    def remove(self, name: str) -> None:
        """Take a name out; a second-level name with others below it stays in the tree, without an answer."""
        entry = self.table2.pop(name)
        if entry.left is not None:
            node = self._parents[name] = TreeNode(name)
            self._replace(entry, node)
            return
        levels = levels_of(name)
        parent = self._parents.get(levels.second) if levels.third else None
        self.third_level.discard(name)
        self._unhang(levels.first, entry)
        if parent is not None and parent.left is None:
            del self._parents[parent.name]
            self._unhang(levels.first, parent)

    def second_level(self, first: str) -> Iterator[TreeNode]:
        """Mapping 1: the row of names under a registered name, itself among them."""
        return row(self.table1.get(first))

    def below(self, second: str) -> Iterator[TreeNode]:
        """The third-level names under a second-level one: its left branch, then always right."""
        node = self.table2.get(second) or self._parents.get(second)
        return row(node.left if node else None)

    def cut(self, *, most: int, quantile: float = 0.5) -> list[str]:
        """Name the third-level answers that must go (SEEDS D8): none up to `most`, else those last used before the quantile.

        With the patent's middle value, 0.5, half of them go at once. Names used at the very moment of the cut stay.
        """
        if len(self.third_level) <= most:
            return []
        used = sorted(self.table2[name].last_access for name in self.third_level)
        limit = used[int(quantile * len(used))]
        return [name for name in self.third_level if self.table2[name].last_access < limit]

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
