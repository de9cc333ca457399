"""Log in to a site by its own form before the first of its pages, and again when an answer shows
that the login has ended.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from hashlib import sha256
from http import HTTPStatus

from crawling.fetching.pipeline.context import FetchContext
from crawling.fetching.pipeline.preconditions import route_to, wait_for_turn
from crawling.fetching.pipeline.visit import Visit
from crawling.web.addresses import Address, BadUrl, read_address
from crawling.web.documents.tree import charset_by_type
from crawling.web.fetch.http import Fetched
from crawling.web.forms.controls import Form, FormPage, read_forms
from crawling.web.forms.login_form import fill_in_and_submit, is_same_form, login_form, next_form
from crawling.web.forms.submission import NotSent, Submission
from crawling.web.secret_headers import Recipients
from crawling.web.statuses import OUTAGES, is_redirect, is_success, may_pass, status_sentence

#: the most redirects to the form, and from the form to the page behind it
MOST_HOPS = 5
#: the most forms that a site shows one after the other: a name, a password, and further questions
MOST_STEPS = 3
SHOWN_AGAIN = "the site shows its form again, so it did not take what was filled in"
#: the largest size of a form
MAX_BYTES = 2 * 1024 * 1024
#: a failed login ends the shift; until then the host gets no request
REST_SECONDS = 60.0
#: redirects by which the form itself is sent on (RFC 9110, sections 15.4.8 and 15.4.9)
KEEPING_METHOD = frozenset({307, 308})


def must_log_in(address: Address, context: FetchContext) -> bool:
    """Whether a page of this host may be fetched only after a login that has not yet taken
    place.
    """
    url = context.client.fetching.login_url
    return (
        url is not None
        and read_address(url).host_key == address.host_key
        and context.client.session_of(address.host_key).logged_in_with != _hash_of_login(context)
    )


def is_logged_out(address: Address, fetched: Fetched, context: FetchContext) -> bool:
    """Whether a page's answer shows that the site has forgotten the login of an earlier shift. The
    page is then requested again after a new login.
    """
    session = context.client.session_of(address.host_key)
    if not session.is_login_old:
        return False
    target = _target(fetched, address) if is_redirect(fetched.status) else None
    login = read_address(context.client.fetching.login_url or "")
    if fetched.status != HTTPStatus.UNAUTHORIZED and (target is None or target.url != login.url):
        return False
    session.logged_in_with, session.is_login_old = "", False
    return True


def _hash_of_login(context: FetchContext) -> str:
    """The hash of the order's login: the crawl logs in anew when the name or password changes."""
    asks = context.client.fetching
    said = repr((asks.login_url, sorted(asks.login_fields.items())))
    return sha256(said.encode()).hexdigest()


def log_in(visit: Visit, address: Address, dial: str, context: FetchContext) -> None:
    """Fetch the form, fill it in and send it, or report why that failed.

    Each step is a fetch, followed by the host's delay. After a temporary fault the host waits; any
    other fault pauses the run.
    """
    visit.repeats.login_status = 0
    start = read_address(context.client.fetching.login_url or "")
    trouble = _Login(visit, context, dial, start, Recipients.of_seeds([start])).trouble()
    if not trouble:
        session = context.client.session_of(address.host_key)
        session.logged_in_with, session.is_login_old = _hash_of_login(context), False
        return
    told = f"Logging in at {context.client.fetching.login_url} failed: {trouble}"
    if visit.repeats.login_status in OUTAGES or may_pass(visit.repeats.login_status):
        visit.availability.suspend(
            Fetched(visit.repeats.login_status, error=f"{told.rstrip('.')}.")
        )
        if not visit.availability.given_up:
            return
        visit.availability.given_up = None  # an operator may try again
    visit.clock.rest_for(REST_SECONDS)
    context.port.login_failed(told)


@dataclass(frozen=True)
class _Login:
    visit: Visit
    context: FetchContext
    #: the host's address
    dial: str
    #: the page with the form, as the order names it
    start: Address
    #: the origins for which the user entered the fields
    trusted: Recipients

    def trouble(self) -> str:
        """The reason why the login failed; empty if it did not."""
        fields = self.context.client.fetching.login_fields
        if not self.context.client.policy.recipients.may_have_login(fields, self.start):
            return "login_fields were given for another site; give them anew"
        shown, where = self._follow(self._get(self.start), self.start)
        if is_redirect(shown.status):
            return f"the page with the form redirects to {shown.location[:200] or 'no address'}"
        page = _page_of(shown, where)
        form = login_form(page, fields) if page else None
        if page is None or (form is None and not is_success(shown.status)):
            why = shown.error or status_sentence(shown.status)
            return f"the page with the form could not be had ({why})"
        if form is None:
            return f"the page has no form with the fields {', '.join(sorted(fields))}"
        for _ in range(MOST_STEPS):
            trouble, behind = self._send(form, page, fields)
            following = next_form(behind, form, fields) if behind else None
            if behind is None or following is None:
                is_again = behind is not None and is_same_form(behind, form, fields)
                return SHOWN_AGAIN if is_again else trouble
            page, form = behind, following
        return f"the site asks for more in each of {MOST_STEPS} forms"

    def _send(
        self, form: Form, page: FormPage, fields: Mapping[str, str]
    ) -> tuple[str, FormPage | None]:
        """Send a form. Return the reason why it failed (empty if it did not), and the page that the
        site shows next, if any.
        """
        try:
            sent = fill_in_and_submit(form, page, fields)
        except NotSent as reason:
            return str(reason), None
        if not self.trusted.may_have_all(sent.address):
            return f"its form is sent to another site, {sent.address.origin}", None
        self._wait()
        answer, where = self._follow(self._get(sent.address, sent), sent.address, sent)
        if is_redirect(answer.status):
            return self._trouble_with_redirect(answer, where, sent), None
        if not is_success(answer.status):
            return f"the site answered {answer.error or status_sentence(answer.status)}", None
        return "", _page_of(answer, where)

    def _trouble_with_redirect(self, answer: Fetched, where: Address, sent: Submission) -> str:
        """The mistake of a redirect that was not followed. A redirect to another site is no
        mistake, unless it would send the form there.
        """
        target = _target(answer, where)
        if target is None or self.trusted.may_have_all(target):
            return f"the site answered {status_sentence(answer.status)}"
        is_sent_on = answer.status in KEEPING_METHOD and sent.body is not None
        return f"its form is sent on to another site, {target.origin}" if is_sent_on else ""

    def _follow(
        self, answer: Fetched, where: Address, sent: Submission | None = None
    ) -> tuple[Fetched, Address]:
        """Follow the site's redirects as long as they stay on the site: no other site learns about
        the login.
        """
        for _ in range(MOST_HOPS):
            target = _target(answer, where) if is_redirect(answer.status) else None
            if target is None or not self.trusted.may_have_all(target):
                break
            is_sent_on = answer.status in KEEPING_METHOD and sent and sent.body is not None
            sent = replace(sent, address=target) if sent and is_sent_on else None
            self._wait()
            answer, where = self._get(target, sent), target
        return answer, where

    def _wait(self) -> None:
        """Wait until the host's next turn."""
        self.context.pace.pause(self.visit.clock.delay)
        wait_for_turn(self.visit, self.dial, self.context)

    def _get(self, address: Address, sent: Submission | None = None) -> Fetched:
        """Fetch once, at the cost of the host's clock and budget."""
        assert self.visit.route.resolution is not None
        dial, refusal = route_to(address, self.visit.route.resolution, self.context)
        answer = refusal or self.context.client.get(address, dial, MAX_BYTES, login=sent)
        fetched = answer.with_document_in_memory(MAX_BYTES)
        self.visit.rest(fetched)
        self.visit.repeats.login_status = fetched.status
        return fetched


def _target(answer: Fetched, where: Address) -> Address | None:
    try:
        return read_address(answer.location, where.url) if answer.location else None
    except BadUrl:
        return None


def _page_of(shown: Fetched, where: Address) -> FormPage | None:
    """The forms of an answer. A refusal counts, too, since many sites show their form with one.
    None if the answer is no page.
    """
    is_refusal = 400 <= shown.status < 500 and not may_pass(shown.status)
    if not is_success(shown.status) and not is_refusal:
        return None
    charset = charset_by_type(shown.body, shown.content_type, shown.charset)
    return read_forms(shown.body, charset, where.url)
