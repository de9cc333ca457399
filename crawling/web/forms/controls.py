"""The forms of an HTML document, each with its controls before any input (HTML Standard, sections
4.10.5 to 4.10.18).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

import turbohtml
from turbohtml import TokenType

from crawling.web.document_stream import DocumentStream
from crawling.web.documents.charsets import decode
from crawling.web.documents.tree import encoding_of, parse_html
from crawling.web.links import Links

#: the most forms of a page that are read
MOST_FORMS = 50
MOST_ELEMENTS = 20_000
#: elements that a form can contain and send (section 4.10.2, submittable elements)
SUBMITTABLE = frozenset({"button", "input", "select", "textarea"})
#: the values of `type` of an `input` that this module distinguishes; any other means a text
#: (4.10.5)
KINDS = frozenset(
    {
        *("hidden", "search", "tel", "url", "email", "password", "date", "month", "week", "time"),
        *("datetime-local", "number", "range", "color", "checkbox", "radio", "file", "submit"),
        *("image", "reset", "button"),
    }
)
BUTTONS = frozenset({"submit", "image", "reset", "button"})
#: kinds of controls that send a form
SUBMITTERS = frozenset({"submit", "image"})
#: kinds with a value of one line (value sanitization algorithms, section 4.10.5.1)
LINES = frozenset({"text", "search", "tel", "password", "url", "email"})
NUMBER = re.compile(r"-?+(?:\d++(?:\.\d++)?+|\.\d++)(?:[eE][+-]?+\d++)?+")
DATE = re.compile(r"\d{4,9}-\d\d-\d\d")
MONTH = re.compile(r"\d{4,9}-\d\d")
WEEK = re.compile(r"\d{4,9}-W\d\d")
TIME = re.compile(r"\d\d:\d\d(?::\d\d(?:\.\d{1,3})?+)?+")
DATE_AND_TIME = re.compile(r"\d{4,9}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:\.\d{1,3})?+)?+")
#: the valid form of a value; with any other value the control is empty
WELL_FORMED = {
    "number": NUMBER,
    "date": DATE,
    "month": MONTH,
    "week": WEEK,
    "time": TIME,
    "datetime-local": DATE_AND_TIME,
}
COLOUR = re.compile(r"#[0-9a-fA-F]{6}")
BLANKS = "\t\n\f\r "
NEWLINES = str.maketrans("", "", "\r\n")


@dataclass(slots=True)
class Option:
    value: str
    text: str
    is_selected: bool
    is_disabled: bool


@dataclass(slots=True)
class Control:
    """A control in its current state, which changes as a user would change it."""

    element: turbohtml.Element
    #: the type of an `input` or `button`, or the name of any other element
    kind: str
    name: str
    value: str
    is_disabled: bool
    is_checked: bool = False
    options: list[Option] = field(default_factory=list)

    @property
    def is_button(self) -> bool:
        return self.kind in BUTTONS

    @property
    def is_submitter(self) -> bool:
        return self.kind in SUBMITTERS


@dataclass(slots=True)
class Form:
    element: turbohtml.Element
    #: in tree order
    controls: list[Control] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class FormPage:
    url: str
    #: the base of relative addresses
    base: str
    #: the encoding's name in the Encoding Standard
    encoding: str
    forms: list[Form]


@dataclass(slots=True)
class _Place:
    """The effect of an open element on the controls within it."""

    element: turbohtml.Element
    form: turbohtml.Element | None = None
    #: whether a `fieldset` around the controls disables them
    is_disabled: bool = False
    #: whether a `datalist` or a `template` is around it
    is_out: bool = False
    #: whether the first `legend` of the `fieldset` was seen
    has_legend: bool = False


def read_forms(body: DocumentStream, charset: str | None, url: str) -> FormPage:
    """Read the forms of a document, whether valid or not. charset: the character set that the
    server named.
    """
    encoding = encoding_of(body, charset)
    text, _ = decode(body.read(), encoding)
    whole = DocumentStream.of(text.encode(errors="replace"))
    document = parse_html(whole, "utf-8", positions=True).document
    written = (document.base_url() if document.find_all("base") else "") or ""
    base = Links(url).join(written) if written else ""
    return FormPage(url, base or url, encoding, list(_forms(document, text)))


def _forms(document: turbohtml.Document, text: str) -> Iterable[Form]:
    if not document.find_all("form"):
        return ()
    forms: dict[turbohtml.Element, Form] = {}
    found: list[tuple[Control, turbohtml.Element, turbohtml.Element | None]] = []
    ids: dict[str, turbohtml.Element] = {}
    for element, place in _form_elements(document):
        if (name := element.attr("id")) is not None:
            ids.setdefault(name, element)
        if element.tag == "form":
            forms[element] = Form(element)
        elif element.tag in SUBMITTABLE and not place.is_out:
            found.append((_control_of_element(element, place), element, place.form))
    by_parser = _parser_owners(forms, [element for _, element, _ in found], text)
    for control, element, around in found:
        named = element.attr("form")
        owner = by_parser.get(element, around) if named is None else ids.get(named)
        if owner in forms and owner is not None:
            forms[owner].controls.append(control)
    for form in forms.values():
        _uncheck_all_but_the_last(form)
    return list(forms.values())[:MOST_FORMS]


def _form_elements(document: turbohtml.Document) -> Iterator[tuple[turbohtml.Element, _Place]]:
    """The HTML elements outside templates, in tree order, each with its surroundings."""
    open_places: list[_Place] = []
    for number, element in enumerate(document.iter_elements()):
        if number > MOST_ELEMENTS:
            return
        parent = element.parent
        while open_places and open_places[-1].element != parent:
            if parent is not None and not isinstance(parent, turbohtml.Element):
                parent = parent.parent  # the content of a template
                continue
            open_places.pop()
        around = open_places[-1] if open_places else _Place(element)
        place = _place_within(around, element)
        open_places.append(place)
        if element.namespace is turbohtml.Namespace.HTML and not around.is_out:
            yield element, place


def _place_within(around: _Place, element: turbohtml.Element) -> _Place:
    """The surroundings of an element's children, from its own surroundings (section 4.10.15: the
    first legend of a fieldset stays enabled).
    """
    place = _Place(element, around.form, around.is_disabled, around.is_out)
    if around.element.tag == "fieldset" and around.element != element:
        is_first = element.tag == "legend" and not around.has_legend
        around.has_legend |= is_first
        place.is_disabled |= _has_attribute(around.element, "disabled") and not is_first
    place.is_out |= element.tag in ("template", "datalist")
    if element.tag == "form":
        place.form = element
    return place


def _parser_owners(
    forms: Iterable[turbohtml.Element], controls: Iterable[turbohtml.Element], text: str
) -> dict[turbohtml.Element, turbohtml.Element]:
    """The forms of controls that are between the tags of a form, although a table or a mistake has
    ended the form early in the tree (section 13.2.6.1, the form element pointer).
    """
    begun = {_source_position(form): form for form in forms}
    wanted = {_source_position(control): control for control in controls}
    owners: dict[turbohtml.Element, turbohtml.Element] = {}
    pointer, templates = None, 0
    for token in turbohtml.tokenize(text):
        if token.type is TokenType.END_TAG:
            templates -= token.tag == "template" and templates > 0
            pointer = None if token.tag == "form" and not templates else pointer
        elif token.type is TokenType.START_TAG:
            templates += token.tag == "template"
            place = token.line, token.col
            pointer = begun.get(place, pointer)
            if pointer is not None and place in wanted:
                owners[wanted[place]] = pointer
    return owners


def _source_position(element: turbohtml.Element) -> tuple[int | None, int | None]:
    return element.source_line, element.source_col


def _control_of_element(element: turbohtml.Element, place: _Place) -> Control:
    control = Control(
        element,
        _kind_of_control(element),
        element.attr("name") or "",
        element.attr("value") or "",
        place.is_disabled or _has_attribute(element, "disabled"),
        _has_attribute(element, "checked"),
    )
    if control.kind == "select":
        control.options = _options_of_select(element)
    elif control.kind == "textarea":
        control.value = element.text.replace("\r\n", "\n").replace("\r", "\n")
    elif element.tag == "input":
        control.value = _sanitize_value(control.kind, control.value, element)
    return control


def _kind_of_control(element: turbohtml.Element) -> str:
    stated = (element.attr("type") or "").lower()
    if element.tag == "input":
        return stated if stated in KINDS else "text"
    if element.tag == "button":
        return stated if stated in ("reset", "button") else "submit"
    return element.tag


def one_line(value: str) -> str:
    return value.translate(NEWLINES)


def _sanitize_value(kind: str, value: str, element: turbohtml.Element) -> str:
    """The value, made valid for a control of this kind."""
    if kind in LINES:
        line = one_line(value)
        return line.strip(BLANKS) if kind in ("url", "email") else line
    if kind == "color":
        return value.lower() if COLOUR.fullmatch(value) else "#000000"
    if kind == "range":
        return value if WELL_FORMED["number"].fullmatch(value) else _middle_value(element)
    if kind in WELL_FORMED:
        return value if WELL_FORMED[kind].fullmatch(value) else ""
    return "" if kind == "file" else value


def _middle_value(element: turbohtml.Element) -> str:
    """The value of a slider without a stated value (section 4.10.5.1.13)."""
    least, most = (
        float(text) if WELL_FORMED["number"].fullmatch(text := element.attr(name) or "") else usual
        for name, usual in (("min", 0.0), ("max", 100.0))
    )
    middle = least if most < least else least + (most - least) / 2
    return f"{middle:.15g}"


def _options_of_select(select: turbohtml.Element) -> list[Option]:
    """The options of a `select` element. The ones that a browser would select are selected (section
    4.10.7).
    """
    options = [
        Option(
            text if (stated := option.attr("value")) is None else stated,
            text,
            _has_attribute(option, "selected"),
            _has_attribute(option, "disabled") or _is_in_disabled_group(option),
        )
        for option in select.find_all("option")
        for text in [" ".join(option.text.split())]
    ]
    if _has_attribute(select, "multiple"):
        return options
    chosen = [option for option in options if option.is_selected]
    if not chosen and (select.attr("size") or "1").strip() in ("", "0", "1"):
        chosen = [option for option in options if not option.is_disabled][:1]
    for option in options:
        option.is_selected = bool(chosen) and option is chosen[-1]
    return options


def _is_in_disabled_group(option: turbohtml.Element) -> bool:
    group = option.parent
    return isinstance(group, turbohtml.Element) and (
        group.tag == "optgroup" and _has_attribute(group, "disabled")
    )


def _uncheck_all_but_the_last(form: Form) -> None:
    """Leave only one of the radio buttons with the same name checked (section 4.10.5.1.16)."""
    last: dict[str, Control] = {}
    for control in form.controls:
        if control.kind == "radio" and control.is_checked and control.name:
            if control.name in last:
                last[control.name].is_checked = False
            last[control.name] = control


def _has_attribute(element: turbohtml.Element, attribute: str) -> bool:
    return attribute in element.attrs
