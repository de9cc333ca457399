"""Plants a fault: a function's source with one piece changed takes the function's place in all
modules that imported it.
"""

import __future__

import ast
import importlib
import inspect
import textwrap
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property, reduce
from types import FunctionType

from django.db import connection


@dataclass(frozen=True)
class Fault:
    """The change of a function, which is named as `package.module:Class.function`; each `old`
    occurs there exactly once.

    The function's text is as `ast.unparse` prints it: however its lines are broken, and with single
    quotes.
    """

    where: str
    old: str
    new: str
    also: tuple[tuple[str, str], ...] = ()


@contextmanager
def planted(fault: Fault) -> Iterator[None]:
    """Run the block with the fault in place.

    Raises LookupError if the product's code no longer has that piece.
    """
    function = _find(fault.where)
    source = ast.unparse(ast.parse(textwrap.dedent(inspect.getsource(function))))
    for old, new in ((fault.old, fault.new), *fault.also):
        if source.count(old) != 1:
            raise LookupError(f"{fault.where} has {old!r} {source.count(old)} times")
        source = source.replace(old, new)
    sound = function.__code__
    function.__code__ = _compiled(function, source)
    try:
        yield
    finally:
        function.__code__ = sound


@contextmanager
def planted_in_server(function: str, changes: dict[str, str]) -> Iterator[None]:
    """Run the block with pieces of a function of the server changed.

    Raises LookupError if the function has no such piece.
    """
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_get_functiondef(%s::regproc)", [function])
        [sound] = cursor.fetchone()
        faulty = sound
        for old, new in changes.items():
            if faulty.count(old) != 1:
                raise LookupError(f"{function} has {old!r} {faulty.count(old)} times")
            faulty = faulty.replace(old, new)
        cursor.execute(faulty)
    try:
        yield
    finally:
        with connection.cursor() as cursor:
            cursor.execute(sound)


def _find(where: str) -> FunctionType:
    module, _, path = where.partition(":")
    found = reduce(inspect.getattr_static, path.split("."), importlib.import_module(module))
    return inspect.unwrap(found.func if isinstance(found, cached_property) else found)


def _compiled(function: FunctionType, source: str) -> object:
    """The code of the changed function.

    Its decorators are left off: the objects that they returned stay in place.
    """
    plain = source[source.index("def ") :]
    changed: dict[str, FunctionType] = {}
    code = compile(
        plain,
        inspect.getsourcefile(function) or "",
        "exec",
        flags=__future__.annotations.compiler_flag,
        dont_inherit=True,
    )
    exec(code, function.__globals__, changed)
    return changed[function.__name__].__code__
