"""A tree in left-child right-sibling form (SEEDS D6): two links a node, however many names lie
under one.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Optional


class TreeNode:
    """A name in the tree.

    A cached answer is its own node; a plain node stands for a name that only has names below it.

    `left` is the first name one level below, `right` the next one on the same level. `before` is
    whose `left` or `right` this is; None for the first node of a registered name, which is in table
    1.
    """

    __slots__ = ("before", "left", "name", "right")

    def __init__(self, name: str) -> None:
        self.name = name
        # a class can't be named in `|` before it exists
        self.left: Optional[TreeNode] = None  # noqa: UP045
        self.right: Optional[TreeNode] = None  # noqa: UP045
        self.before: Optional[TreeNode] = None  # noqa: UP045

    def hang_left(self, node: TreeNode) -> None:
        """Make `node` the first of those below."""
        node.right, node.before, self.left = self.left, self, node
        if node.right:
            node.right.before = node

    def hang_right(self, node: TreeNode) -> None:
        """Put `node` beside this one."""
        node.right, node.before, self.right = self.right, self, node
        if node.right:
            node.right.before = node

    def take_out(self, heir: TreeNode | None = None) -> None:
        """Leave the tree; `heir` takes over all links, or, without one, those to the right move
        up."""
        successor = heir or self.right
        if self.before is not None:
            if self.before.left is self:
                self.before.left = successor
            else:
                self.before.right = successor
        if successor is not None:
            successor.before = self.before
        if heir is not None:
            heir.left, heir.right = self.left, self.right
            for below in (heir.left, heir.right):
                if below is not None:
                    below.before = heir
        self.left = self.right = self.before = None


def row(first: TreeNode | None) -> Iterator[TreeNode]:
    """Walk right from `first`: all names of one level under one parent."""
    while first is not None:
        yield first
        first = first.right
