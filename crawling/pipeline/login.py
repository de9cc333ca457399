"""Log in to a site by its own form, once a shift, before the first of its pages."""

from __future__ import annotations

import time

from crawling.pipeline.address_rate_limit import wait_for_turn
from crawling.pipeline.context import FetchContext
from crawling.pipeline.visit import Visit
from crawling.web.addresses import Address, BadUrl, read_address
from crawling.web.documents.login_form import fill_in
from crawling.web.documents.tree import parse_html
from crawling.web.fetch.http import Fetched
from crawling.web.statuses import OUTAGES, explain, is_redirect, may_pass, succeeded

#: from the form to the page behind it
MOST_HOPS = 5
#: a form is no larger
MAX_BYTES = 2 * 1024 * 1024
#: a failed login ends the shift; until then the host gets no request
REST_SECONDS = 60.0


def must_log_in(address: Address, context: FetchContext) -> bool:
    """Whether a page of this host may be fetched only after a login that has not been yet."""
    url = context.client.fetching.login_url
    return (
        url is not None
        and read_address(url).origin == address.origin
        and not context.client.session_of(address.host_key).is_logged_in
    )


def log_in(visit: Visit, address: Address, dial: str, context: FetchContext) -> None:
    """Fetch the form, fill it in, send it; or say why that did not go.

    These are fetches, each followed by the host's delay.

    A fault of a moment lets the host wait. Any other pauses the run.
    """
    visit.repeats.login_status = 0
    trouble = _log_in(visit, address, dial, context)
    if not trouble:
        context.client.session_of(address.host_key).is_logged_in = True
        return
    told = f"Logging in at {context.client.fetching.login_url} failed: {trouble}"
    if visit.repeats.login_status in OUTAGES or may_pass(visit.repeats.login_status):
        visit.availability.suspend(
            Fetched(visit.repeats.login_status, error=f"{told.rstrip('.')}.")
        )
        if not visit.availability.given_up:
            return
        visit.availability.given_up = None  # an operator may try again
    visit.clock.host_free_at = time.monotonic() + REST_SECONDS
    visit.clock.keep_budget()
    context.port.login_failed(told)


def _log_in(visit: Visit, address: Address, dial: str, context: FetchContext) -> str:
    """Why it failed; empty if it did not."""
    fields = context.client.fetching.login_fields
    page = read_address(context.client.fetching.login_url or "")
    shown = _get(visit, context, page, dial)
    if not succeeded(shown.status):
        return f"the page with the form could not be had ({shown.error or explain(shown.status)})"
    form = fill_in(parse_html(shown.body, shown.charset).document, page.url, fields)
    if form is None:
        return f"the page has no form with the fields {', '.join(sorted(fields))}"
    if form.address.origin != page.origin:
        return f"its form is sent to another site, {form.address.origin}"
    context.pace.pause(visit.clock.delay)
    wait_for_turn(visit, dial, context)
    answer, where = _follow(
        _get(visit, context, form.address, dial, form.body), form.address, dial, visit, context
    )
    if not succeeded(answer.status) or is_redirect(answer.status):
        return f"the site answered {answer.error or explain(answer.status)}"
    if fill_in(parse_html(answer.body, answer.charset).document, where.url, fields):
        return "the site shows its form again, so it did not take what was filled in"
    return ""


def _follow(
    answer: Fetched, where: Address, dial: str, visit: Visit, context: FetchContext
) -> tuple[Fetched, Address]:
    """Go where the site leads after its form, as long as that is the site itself; another site does
    not hear of the login.
    """
    for _ in range(MOST_HOPS):
        if not is_redirect(answer.status):
            break
        try:
            target = read_address(answer.location, where.url)
        except BadUrl:
            break
        if target.origin != where.origin:
            return Fetched(204), target
        context.pace.pause(visit.clock.delay)
        wait_for_turn(visit, dial, context)
        answer, where = _get(visit, context, target, dial), target
    return answer, where


def _get(
    visit: Visit, context: FetchContext, address: Address, dial: str, form: bytes | None = None
) -> Fetched:
    """One fetch, which the host's clock and budget count."""
    fetched = context.client.get(address, dial, MAX_BYTES, form=form).in_memory(MAX_BYTES)
    visit.rest(fetched)
    visit.repeats.login_status = fetched.status
    return fetched
