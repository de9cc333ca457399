"""The positive region: names that were answered quickly (SEEDS D4-D8)."""

from __future__ import annotations

from collections.abc import Iterator

from dnscache.protocol.names import Levels, levels_of, split_below
from dnscache.regions.entry import CachedAnswer, TreeNode, nodes_of_row


class ForwardRegion:
    """Table 1, a tree under each registered name, and table 2.

    `table1` maps a registered name to the first node of its row of second-level names (the patent's
    mapping 1); the registered name itself is in that row, too, so that its address has a place.
    `table2` maps every full name, of any level, to its answer (mapping 2): a third-level name need
    not have its parent's address. The answer is the name's node in the tree.
    """

    def __init__(self) -> None:
        self.table1: dict[str, TreeNode] = {}
        self.table2: dict[str, CachedAnswer] = {}
        #: the number of third-level answers in table 2
        self.third_level = 0
        # second-level names that only have names below them
        self._parents: dict[str, TreeNode] = {}

    def add(self, entry: CachedAnswer, first: str = "") -> None:
        """Put the answer into table 2 and the tree, in place of an older one; `first` is the
        registered name, if the caller knows it.
        """
        older: TreeNode | None = self.table2.get(entry.name) or self._parents.pop(entry.name, None)
        if older is not None:
            self._replace_node(older, entry)
        else:
            levels = split_below(first, entry.name) if first else levels_of(entry.name)
            if levels.third:
                self.third_level += 1
                self._parent_node(levels).attach_left(entry)
            else:
                self._attach_to_row(levels.first, entry)
        self.table2[entry.name] = entry

    def remove(self, entry: CachedAnswer) -> None:
        """Take an answer out of table 2 and the tree. A second-level name with others below it
        stays in the tree without an answer.
        """
        del self.table2[entry.name]
        if entry.left is not None:
            node = self._parents[entry.name] = TreeNode(entry.name)
            self._replace_node(entry, node)
            return
        levels = levels_of(entry.name)
        parent = self._parents.get(levels.second) if levels.third else None
        self.third_level -= bool(levels.third)
        self._detach(levels.first, entry)
        if parent is not None and parent.left is None:
            del self._parents[parent.name]
            self._detach(levels.first, parent)

    def branches(self, first: str) -> Iterator[tuple[TreeNode, list[CachedAnswer]]]:
        """Walk the tree of a registered name in table 1: each name of the second level, or the
        registered one, with the third-level names on its left branch.
        """
        for second in nodes_of_row(self.table1.get(first)):
            yield (
                second,
                [node for node in nodes_of_row(second.left) if isinstance(node, CachedAnswer)],
            )

    def names_of(self, first: str) -> list[str]:
        """Return the names under a registered one that have an answer."""
        nodes = [node for second, below in self.branches(first) for node in (second, *below)]
        return [node.name for node in nodes if isinstance(node, CachedAnswer)]

    def surplus_names(self, *, most: int, quantile: float = 0.5) -> list[str]:
        """The names of the third-level answers that are to be removed (SEEDS D8): none up to
        `most`, otherwise those that were last used before the quantile.

        With the patent's middle value, 0.5, half of them go at once. Names used at exactly that
        time stay.
        """
        if self.third_level <= most:
            return []
        third = [
            node for first in self.table1 for _, below in self.branches(first) for node in below
        ]
        used = sorted(node.last_access for node in third)
        limit = used[int(quantile * len(used))]
        return [node.name for node in third if node.last_access < limit]

    def _parent_node(self, levels: Levels) -> TreeNode:
        node = self.table2.get(levels.second) or self._parents.get(levels.second)
        if node is None:
            node = self._parents[levels.second] = TreeNode(levels.second)
            self._attach_to_row(levels.first, node)
        return node

    def _attach_to_row(self, first: str, node: TreeNode) -> None:
        if first in self.table1:
            self.table1[first].attach_right(node)
        else:
            self.table1[first] = node

    def _detach(self, first: str, node: TreeNode) -> None:
        if self.table1.get(first) is node:
            if node.right is None:
                del self.table1[first]
            else:
                self.table1[first] = node.right
        node.remove_from_tree()

    def _replace_node(self, older: TreeNode, newer: TreeNode) -> None:
        """Put one node in the place of another. Table 1 knows only the head of a row, whose
        `before` is None.
        """
        if older.before is None:
            self.table1[levels_of(older.name).first] = newer
        older.remove_from_tree(heir=newer)
