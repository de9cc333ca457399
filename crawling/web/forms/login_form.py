"""The login form of a page, filled in as a user would do it (SEEDS B14, JoBo)."""

from __future__ import annotations

from collections.abc import Mapping

from crawling.web.addresses import BadUrl
from crawling.web.forms.controls import BUTTONS, LINES, Control, Form, FormPage, one_line
from crawling.web.forms.submission import Entry, NotSent, Submission, default_button, submit_form

#: kinds of controls without input from a user
UNTYPED = BUTTONS | {"hidden", "file"}


def login_form(page: FormPage, fields: Mapping[str, str]) -> Form | None:
    """The form to which the fields belong. The form with most of them is preferred, then a form
    that can be sent, then a form with a single password (a registration form has two), then the
    first.

    None if no form has any of the fields.
    """
    ranks = [_likelihood_of_login(form, fields) for form in page.forms]
    best = max(ranks, default=(0, False, 0))
    return page.forms[ranks.index(best)] if best[0] else None


def next_form(page: FormPage, form: Form, fields: Mapping[str, str]) -> Form | None:
    """The form of the next page, which requires a password that the first form did not require.
    None if there is no such form; then the page is already the one behind the login.
    """
    left = fields.keys() - _control_names(form)
    found = login_form(page, {name: fields[name] for name in left})
    passwords = (
        {control.name for control in found.controls if control.kind == "password"} if found else ()
    )
    return found if left & set(passwords) else None


def _likelihood_of_login(form: Form, fields: Mapping[str, str]) -> tuple[int, bool, int]:
    is_sent = (form.element.attr("method") or "").lower() != "dialog"
    passwords = sum(control.kind == "password" for control in form.controls)
    return (
        len(fields.keys() & _control_names(form)),
        is_sent,
        2 if passwords == 1 else passwords > 0,
    )


def _control_names(form: Form) -> set[str]:
    return {control.name for control in form.controls}


def is_same_form(page: FormPage, form: Form, fields: Mapping[str, str]) -> bool:
    """Whether a page has a form with the same fields as this form."""
    asked = fields.keys() & _control_names(form)
    return any(asked <= _control_names(other) for other in page.forms)


def fill_in_and_submit(form: Form, page: FormPage, fields: Mapping[str, str]) -> Submission:
    """Send the form with these fields filled in, and its other fields unchanged. A field that the
    form lacks is sent, too, since scripts would have added it.

    Raises NotSent.
    """
    button = _button_named(form, fields)
    missing = [
        Entry(name, value)
        for name, value in fields.items()
        if not (button and button.name == name) and not _set_control(form, name, value)
    ]
    try:
        return submit_form(form, page, button or default_button(form), missing)
    except BadUrl as error:
        raise NotSent(f"its form is sent to what is no address ({error})") from error


def _button_named(form: Form, fields: Mapping[str, str]) -> Control | None:
    """The button that a field names; by its value if several buttons have the name. It then sends
    the value of the field.
    """
    named = [
        control
        for control in form.controls
        if control.is_submitter and not control.is_disabled and control.name in fields
    ]
    exact = (control for control in named if control.value == fields[control.name])
    if button := next(exact, named[0] if named else None):
        button.value = fields[button.name]
    return button


def _set_control(form: Form, name: str, value: str) -> bool:
    """Set the control with this name. Return whether the form now sends the value."""
    there = [
        control for control in form.controls if control.name == name and not control.is_disabled
    ]
    choices = [control for control in there if control.kind in ("radio", "checkbox", "select")]
    chosen = [_choose_option(control, value) for control in choices]
    if any(chosen):
        return True
    texts = [control for control in there if control.kind not in UNTYPED and control not in choices]
    hidden = [control for control in there if control.kind == "hidden"]
    for control in [*texts, *hidden][:1]:
        control.value = one_line(value) if control.kind in LINES else value
        return True
    return False


def _choose_option(control: Control, value: str) -> bool:
    """Choose the option with this value or this text. Without such an option nothing is chosen.
    Return whether a browser would now send the value.
    """
    if control.kind == "select":
        chosen = next((one for one in control.options if value in (one.value, one.text)), None)
        for option in control.options:
            option.is_selected = option is chosen
        return chosen is not None and not chosen.is_disabled
    stated = control.element.attr("value")
    control.is_checked = value == ("on" if stated is None else stated)
    return control.is_checked or (control.kind == "checkbox" and not value)
