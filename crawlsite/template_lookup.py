"""Django's template engine with faster variables: what a template says means the same.

A row of a long list looks a hundred variables up. Django tries each name as a key first, and an
exception tells it that the value has no keys; it also formats whole numbers for a language, and
logs each name that is missing. Here a name is tried as a key only where there may be keys, a whole
number is its digits (no page uses localized numbers), and a missing name is a value.
"""

from __future__ import annotations

from functools import lru_cache
from html import escape
from inspect import signature
from typing import Any

from django.template import Template, TemplateDoesNotExist
from django.template.base import (
    FilterExpression,
    Lexer,
    Node,
    NodeList,
    Parser,
    Token,
    Variable,
    VariableDoesNotExist,
    VariableNode,
    render_value_in_context,
)
from django.template.context import Context
from django.template.loaders import base, cached
from django.utils.safestring import SafeData, SafeString, mark_safe
from django.utils.timezone import template_localtime  # type: ignore[attr-defined]

#: stands for what a name does not lead to
MISSING = object()
#: errors by which a value says that it has no such key
NO_KEY = (TypeError, AttributeError, KeyError, ValueError, IndexError)
#: how values look up that have places and no names
PLACES_ONLY = (list.__getitem__, tuple.__getitem__, str.__getitem__)
#: classes of values of which it is remembered whether they may have names as keys
CLASSES = 2_000


class NameLookup(Variable):
    """A name, or several with dots between them, that is looked up as Django does."""

    __slots__ = ()
    lookups: tuple[str, ...]

    def resolve(self, context: Any) -> Any:
        """Raises VariableDoesNotExist."""
        value = self.find(context)
        if value is MISSING:
            raise VariableDoesNotExist("Failed lookup for [%s]", (self.var,))
        return value

    def find(self, context: Context) -> Any:
        """The value, or MISSING."""
        name, *names = self.lookups
        for scope in reversed(context.dicts):
            if name in scope:
                value = scope[name]
                break
        else:
            return MISSING
        try:
            if callable(value):
                value = _called(value, context)
            for name in names:
                value = _member(value, name)
                if callable(value):
                    value = _called(value, context)
        except Exception as error:  # as Django: an error may say that it is none to a template
            if getattr(error, "silent_variable_failure", False):
                return _invalid(context)
            raise
        return value


def _member(value: Any, name: str) -> Any:
    """Its key, else its attribute, else its place in a list; or MISSING."""
    if value is MISSING:
        return MISSING
    if _may_have_names(type(value)):  # type: ignore[arg-type]  # a class can be hashed
        try:
            return value[name]
        except NO_KEY:
            pass
    try:
        return getattr(value, name)
    except (TypeError, AttributeError):
        if any(name in one.__dict__ for one in type(value).__mro__):  # a property's own error
            raise
    try:
        return value[int(name)]
    except (*NO_KEY, OverflowError):
        return MISSING


@lru_cache(CLASSES)
def _may_have_names(kind: type) -> bool:
    looks_up = getattr(kind, "__getitem__", None)
    return looks_up is not None and looks_up not in PLACES_ONLY


def _invalid(context: Context) -> str:
    """What stands for a value that there is none of."""
    return context.template.engine.string_if_invalid if context.template else ""


def _called(value: Any, context: Context) -> Any:
    if getattr(value, "do_not_call_in_templates", False):
        return value
    if getattr(value, "alters_data", False):
        return _invalid(context)
    try:
        return value()
    except TypeError:
        try:
            signature(value).bind()
        except (ValueError, TypeError):  # it cannot be called so; else the error is its own
            return _invalid(context)
        raise


class _Step:
    """A filter with its arguments, and what it asks of its value."""

    __slots__ = ("arguments", "function", "is_safe", "wants_autoescape", "wants_localtime")

    def __init__(self, function: Any, arguments: list[tuple[bool, Any]]) -> None:
        self.function = function
        self.arguments = [
            (True, _quick(argument)) if is_looked_up else (False, mark_safe(argument))  # noqa: S308
            for is_looked_up, argument in arguments
        ]
        self.is_safe = getattr(function, "is_safe", False)
        self.wants_autoescape = getattr(function, "needs_autoescape", False)
        self.wants_localtime = getattr(function, "expects_localtime", False)

    def apply(self, value: Any, context: Context) -> Any:
        arguments = [
            argument.resolve(context) if is_looked_up else argument
            for is_looked_up, argument in self.arguments
        ]
        if self.wants_localtime:
            value = template_localtime(value, context.use_tz)
        if self.wants_autoescape:
            made = self.function(value, *arguments, autoescape=context.autoescape)
        else:
            made = self.function(value, *arguments)
        is_safe = self.is_safe and isinstance(value, SafeData)
        return mark_safe(made) if is_safe else made  # noqa: S308


class QuickExpression(FilterExpression):
    """A variable with its filters."""

    __slots__ = ("steps",)

    def __init__(self, token: str, parser: Parser) -> None:
        super().__init__(token, parser)
        if self.is_var:
            self.var = _quick(self.var)
        self.steps = [_Step(function, arguments) for function, arguments in self.filters]

    def resolve(self, context: Context, ignore_failures: bool = False) -> Any:
        variable = self.var
        if type(variable) is not NameLookup:
            return super().resolve(context, ignore_failures)
        value = variable.find(context)
        if value is MISSING:
            if _invalid(context) and not ignore_failures:
                return super().resolve(context)
            value = None if ignore_failures else ""
        for step in self.steps:
            value = step.apply(value, context)
        return value


def _quick(variable: Variable) -> Variable:
    """The same, unless it is a literal."""
    is_name = variable.lookups is not None and not variable.translate
    return NameLookup(variable.var) if is_name else variable


class ExpressionNode(VariableNode):
    """What a variable comes to, as text of a page."""

    def render(self, context: Context) -> str:
        value = self.filter_expression.resolve(context)
        kind = type(value)
        if kind is SafeString:
            return str(value)
        if kind is str:
            return escape(value) if context.autoescape else value
        return str(value) if kind is int else str(render_value_in_context(value, context))


class QuickParser(Parser):
    """Makes the above of a template's text."""

    def compile_filter(self, token: str) -> QuickExpression:
        return QuickExpression(token, self)

    def extend_nodelist(self, nodelist: NodeList, node: Node, token: Token) -> None:
        if type(node) is VariableNode:
            node = ExpressionNode(node.filter_expression)
        super().extend_nodelist(nodelist, node, token)


class QuickTemplate(Template):
    """A template of such variables."""

    def compile_nodelist(self) -> NodeList:
        engine = self.engine
        if engine.debug:  # Django's own tells where an error is
            return super().compile_nodelist()
        parser = QuickParser(
            Lexer(self.source).tokenize(),
            engine.template_libraries,
            engine.template_builtins,
            self.origin,
        )
        nodes = parser.parse()
        self.extra_data = parser.extra_data
        return nodes


class _QuickLoader(base.Loader):
    def get_template(self, template_name: str, skip: Any = None) -> Template:
        """As Django's, of the other class."""
        tried = []
        for origin in self.get_template_sources(template_name):
            if skip is not None and origin in skip:
                tried.append((origin, "Skipped to avoid recursion"))
                continue
            try:
                text = self.get_contents(origin)  # type: ignore[attr-defined]  # of `Loader`
            except TemplateDoesNotExist:
                tried.append((origin, "Source does not exist"))
            else:
                return QuickTemplate(text, origin, str(origin.template_name), self.engine)
        raise TemplateDoesNotExist(template_name, tried=tried)


class Loader(cached.Loader, _QuickLoader):
    """Keeps the templates that other loaders find."""
