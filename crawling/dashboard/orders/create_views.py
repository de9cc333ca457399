"""The form for a new crawl, with the checks of its answers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from typing import Any
from uuid import uuid4

from django.contrib import messages
from django.contrib.auth.models import User
from django.core.exceptions import ValidationError
from django.db import transaction
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.template.loader import render_to_string
from django.utils.timezone import localtime
from django.views.decorators.vary import vary_on_headers

from allocation.selectors import format_amounts
from allocation.wording import first_few_in_words, joined_in_words
from crawling.base.encrypted_text import SealBroken
from crawling.base.errors import BadOrder, CrawlError, NoPool
from crawling.dashboard.base.schedule import plan_of
from crawling.dashboard.base.trouble import errors_told, show_mistakes
from crawling.dashboard.orders.first_answers import initial_answers
from crawling.dashboard.orders.forms.create import CrawlForm, EditForm, format_claim
from crawling.dashboard.orders.forms.purposes import (
    CARDS,
    answers_for_purpose,
    card_of,
    read_purpose,
    schedule_answers_for_purpose,
    schedule_for,
)
from crawling.dashboard.orders.forms.schedule import ScheduleForm
from crawling.dashboard.orders.forms.sections import sections_of
from crawling.dashboard.orders.schedule_views import foreseen_starts
from crawling.installation.identity import identity, set_identity
from crawling.installation.pools import capacity_of, default_pool, pool_named
from crawling.models import CrawlJob, Inquiry, InquiryKind, OrderTemplate
from crawling.orders.estimates import Figure
from crawling.orders.estimates import order_figures as figures_of
from crawling.orders.order import CrawlOrder
from crawling.orders.rendering_needs import rendering_figures
from crawling.previews.inquiries import question_of
from crawling.previews.seed_fetch_results import SeedTestFetch
from crawling.previews.seed_fetches import MOST_TRIED, request_test_fetch
from crawling.previews.seed_names import await_names, request_name_lookups
from crawling.runs.crawls.creation import check_order, create_crawl
from crawling.runs.crawls.earlier_renderings import needs_of_rendering
from crawling.runs.crawls.schedules import set_schedule
from crawling.runs.crawls.tags import set_tags
from crawling.runs.seed_checks import ClosedAddress, allow_port, closed_addresses
from crawling.runs.start import start_run
from serving.access import AuthenticatedRequest, authenticated
from serving.requests import wants_fragment

#: the number of templates that the form offers
TEMPLATES = 50


def needs_pool(view: Callable[..., HttpResponse]) -> Callable[..., HttpResponse]:
    """Guard the form, which requires a pool. Without a pool, the list of crawls tells the user what
    to do.
    """

    @wraps(view)
    def told(request: HttpRequest, **named: Any) -> HttpResponse:
        with errors_told(request, NoPool):
            return view(request, **named)
        return redirect("crawling:crawls")

    return told


@authenticated(needs="crawling.add_crawljob", methods=("GET", "HEAD", "POST"))
@needs_pool
def new(request: AuthenticatedRequest) -> HttpResponse:
    """Ask for a crawl's order, with the mistakes beside the fields. Create the crawl, and start it
    if requested.
    """
    if request.method != "POST":
        answers = initial_answers(request)
        form = CrawlForm(initial=answers, capacity=capacity_of(default_pool()))
        # a user starts a copy of a crawl; its original may have no schedule, or one for that time
        schedule = ScheduleForm(initial=schedule_for(request.GET.get("for", "")))
        opens = "reading" if answers.get("extractor") else ""
        return form_page(request, form, schedule=schedule, opens=opens)
    if "check" in request.POST:
        form, schedule = form_of(request), ScheduleForm(request.POST)
        figures = _judge(form, request.user)
        wrong = labels_of_mistakes(form)
        return form_page(request, form, schedule=schedule, figures=figures, wrong=wrong)
    key = request.POST.get("key", "")[:200]
    made, is_to_start = _made_before(request.user, key), "start" in request.POST
    if made is None:
        form = CrawlForm(request.POST, request.FILES, capacity=_capacity_for(request.POST))
        form.is_valid()
        seeds = form.canonical_seeds()
        if is_to_start:
            await_names(seeds, by=request.user)
        closed = closed_addresses(seeds)
        mistakes = {"seeds": _not_allowed(closed)} if is_to_start and closed else {}
        schedule = ScheduleForm(request.POST)
        made = _create_from_form(form, schedule, request.user, key, mistakes)
        made = made or _made_before(request.user, key)
        if made is None:
            return form_page(request, form, schedule=schedule, closed=closed)
    if is_to_start:
        _start(request, made, request.user)
    else:
        messages.success(request, f"{made.name} is saved; {_until_when(made)}.")
    return redirect("crawling:crawl", made.pk)


def _until_when(crawl: CrawlJob) -> str:
    plan = plan_of(crawl)
    if plan is None:
        return "nothing is fetched until it is started"
    return f"it starts first on {localtime(plan.upcoming[0]):%Y-%m-%d %H:%M %Z}, by its schedule"


@authenticated(needs="crawling.add_crawljob", methods=("POST",))
@needs_pool
def choose_purpose(request: AuthenticatedRequest) -> HttpResponse:
    """Show the form with its answers. The suggestions for the purpose `for` replace those for the
    earlier purpose.
    """
    form = form_of(request)
    old = read_purpose(request.POST.get("purpose", ""))
    new_purpose = read_purpose(request.POST.get("for", ""))
    answers = answers_for_purpose(form.answers, old, new_purpose)
    typed = ScheduleForm(request.POST)
    suggested = schedule_answers_for_purpose(
        typed, posted_schedule_answers(request), old, new_purpose
    )
    schedule = ScheduleForm(initial={**suggested})
    return form_page(request, CrawlForm(initial=answers, capacity=form.capacity), schedule=schedule)


@authenticated(needs="crawling.add_allowednetwork", methods=("POST",))
@needs_pool
def allow_address(request: AuthenticatedRequest) -> HttpResponse:
    """Allow crawls to fetch from the addresses and ports of seeds, each as `127.0.0.1 80`. Then
    save and start the crawl if the button says so; otherwise show the form with its answers.
    """
    form = form_of(request)
    asked = request.GET.getlist("allow") or [request.POST.get("allow", "")]
    try:
        with transaction.atomic():
            rules = [allow_port(one, by=request.user) for one in asked]
    except ValidationError as error:
        messages.error(request, " ".join(error.messages))
    else:
        be = "is" if len(rules) == 1 else "are"
        messages.success(request, f"{joined_in_words(rules)} {be} allowed from the next fetch on.")
        if "start" in request.POST:
            return redirect("crawling:new", preserve_request=True)
    return form_page(request, CrawlForm(initial=form.answers, capacity=form.capacity))


@authenticated(needs="crawling.add_crawljob", methods=("POST",))
@needs_pool
def test_fetch(request: AuthenticatedRequest) -> HttpResponse:
    """Fetch the first seeds of the form in the background. `tested` shows the answers."""
    form = form_of(request)
    mistakes = _save_identity(form, request.user)
    inquiry = None
    if not mistakes:
        inquiry, mistakes = request_test_fetch(
            form.as_order(),
            answers=form.answers | posted_schedule_answers(request),
            by=request.user,
        )
    is_part = wants_fragment(request)
    if inquiry and not is_part:
        return redirect("crawling:tested", inquiry.pk)
    facts: dict[str, Any] = {
        "inquiry": inquiry,
        "mistakes": form.in_words(mistakes),
        "has_tried": True,
    }
    if is_part:
        return render(request, "crawling/_test_fetch.html", facts)
    return form_page(request, CrawlForm(initial=form.answers, capacity=form.capacity), **facts)


@authenticated(needs="crawling.add_crawljob", methods=("GET", "HEAD"))
@vary_on_headers("HX-Request")
@needs_pool
def tested(request: AuthenticatedRequest, inquiry_id: int) -> HttpResponse:
    """The result of a test fetch, for the user who asked: alone or, without scripts, with the
    form.
    """
    asked = Inquiry.objects.filter(kind=InquiryKind.TEST_FETCH, by=request.user)
    inquiry = get_object_or_404(asked, pk=inquiry_id)
    try:
        question = question_of(inquiry)
    except SealBroken:  # the job has reported the mistake, and the form begins anew
        question = {"order": {"seeds": []}, "answers": initial_answers(request)}
    facts: dict[str, Any] = {
        "inquiry": inquiry,
        "fetches": [
            SeedTestFetch.from_answer(item) for item in (inquiry.answer or {}).get("items", [])
        ],
        "untried": max(0, len(question["order"]["seeds"]) - MOST_TRIED),
        "has_tried": True,
    }
    if wants_fragment(request):
        return render(request, "crawling/_test_fetch.html", facts)
    answers, capacity = question["answers"], _capacity_for(question["answers"])
    facts["schedule"] = ScheduleForm(initial=answers)
    return form_page(request, CrawlForm(initial=answers, capacity=capacity), **facts)


@authenticated(needs="crawling.add_crawljob", methods=("POST",))
@needs_pool
def check(request: AuthenticatedRequest) -> JsonResponse:
    """The mistakes in the form, the summaries of its sections, and the estimate of the crawl's
    requests. `is_resolving`: whether names of seeds are still being looked up, so that closed
    addresses may be found later.
    """
    form, schedule = form_of(request), ScheduleForm(request.POST)
    figures = _judge(form, request.user)
    seeds = form.canonical_seeds()
    asked = request_name_lookups(seeds, by=request.user)
    closed = {"closed": closed_addresses(seeds)}
    part = render_to_string("crawling/_closed_addresses.html", closed, request)
    is_resolving = bool(asked and asked.is_open)
    return check_answer(form, figures, schedule, closed=part.strip(), is_resolving=is_resolving)


def _judge(form: CrawlForm, by: User) -> list[Figure]:
    """Add the mistakes to the form. Return the estimate if there are none."""
    with transaction.atomic():  # the contact in the form counts, although it is not saved yet
        mistakes = _save_identity(form, by)
        try:
            order, claim = check_order(form.as_order(), by=by)
            rendered = rendering_figures(needs_of_rendering(order, claim))
            return [*figures_of(order), *rendered, _claim_figure(order, claim)]
        except BadOrder as error:
            mistakes = error.errors | mistakes
            return []
        finally:
            transaction.set_rollback(True)
            form.blame(mistakes)


def _claim_figure(order: CrawlOrder, claim: Mapping[str, int]) -> Figure:
    """The figure "Reserves at most": the most units that the crawl's processes together may hold in
    the order's pool.
    """
    told = {"worker", "fetch_slots", "bandwidth"}
    others = {key: units for key, units in claim.items() if key not in told}
    each = "with " if order.processes == 1 else "per worker, with "
    amounts = ", ".join(format_amounts(pool_named(order.pool).pk, others))
    return Figure("Reserves at most", format_claim(claim), f"{each}{amounts}")


def check_answer(
    form: CrawlForm | EditForm,
    figures: list[Figure],
    schedule: ScheduleForm | None = None,
    **more: str | bool,
) -> JsonResponse:
    """The answer for order.js to show."""
    told = {key: folded.told for key, folded in sections_of(form).items()}
    wrong = form.errors | (schedule.errors if schedule else {})
    errors = {name: str(sentences[0]) for name, sentences in wrong.items()}
    said = {"figures": figures, "wrong": labels_of_mistakes(form)}
    estimate = render_to_string("crawling/_estimate.html", said).strip()
    return JsonResponse({"errors": errors, "told": told, "estimate": estimate, **more})


def labels_of_mistakes(form: CrawlForm | EditForm) -> str:
    """The labels of the fields that must be corrected before there is an estimate. Empty for a form
    without seeds, since its other fields may be right.
    """
    if isinstance(form, CrawlForm) and not form.all_seeds():
        return ""
    return joined_in_words(
        [str(form.fields[name].label) for name in form.fields if name in form.errors]
    )


def form_of(request: HttpRequest) -> CrawlForm:
    form = CrawlForm(request.POST, request.FILES, capacity=_capacity_for(request.POST))
    form.is_valid()
    form.keep_lines()
    return form


def _capacity_for(answers: Mapping[str, Any]) -> dict[str, int]:
    """The capacity of the chosen pool. If there is none of this name, that of the default pool."""
    try:
        return capacity_of(pool_named(str(answers.get("pool", ""))))
    except BadOrder:
        return capacity_of(default_pool())


def posted_schedule_answers(request: HttpRequest) -> dict[str, Any]:
    """The answers about a schedule as the form has sent them, unparsed."""
    many = {"weekdays": request.POST.getlist("weekdays")} if "repeat" in request.POST else {}
    one = {name: request.POST[name] for name in ScheduleForm.base_fields if name in request.POST}
    return one | many


def form_page(
    request: HttpRequest, form: CrawlForm, *, opens: str = "", **facts: Any
) -> HttpResponse:
    """The page with the form. opens: the key of the section that is open."""
    who = identity()
    key = request.POST.get("key") or uuid4().hex
    schedule = facts.setdefault("schedule", ScheduleForm(initial=posted_schedule_answers(request)))
    purpose = read_purpose(str(form["purpose"].value() or ""))
    first = card_of(purpose).opens
    sections = sections_of(form, unfolded={*request.POST.getlist("unfolded"), first, opens})
    facts |= {
        "cards": CARDS,
        "purpose": purpose.value,
        "foreseen": foreseen_starts(schedule),
        "form": form,
        "who": who,
        "asks_who": not who.contact_url,
        "key": key,
        "first": sections.pop(first, None),
        "sections": sections,
        "templates": OrderTemplate.objects.all()[:TEMPLATES],
    }
    return render(request, "crawling/new.html", facts)


def _made_before(by: User, key: str) -> CrawlJob | None:
    """The crawl that an earlier press of the same button has created."""
    return CrawlJob.objects.filter(created_by=by, idempotency_key=key).first() if key else None


def _create_from_form(
    form: CrawlForm, schedule: ScheduleForm, by: User, key: str, known: Mapping[str, str]
) -> CrawlJob | None:
    """Create the crawl. If the form is invalid, return None, and put the errors into the form. With
    `known` mistakes the crawl is not created, and all other mistakes are shown as well.

    The identity is saved together with the crawl or not at all.
    """
    mistakes = dict(known)
    try:
        with transaction.atomic():
            mistakes |= _save_identity(form, by)
            crawl = create_crawl(form.as_order(), by=by, idempotency_key=key)
            _set_schedule(crawl, schedule, by)
            if mistakes or form.errors or schedule.errors:
                raise BadOrder({})
            return set_tags(crawl, form.cleaned_data["tags"], by=by)
    except BadOrder as error:
        form.blame({**error.errors, **mistakes})
        return None


def _set_schedule(crawl: CrawlJob, form: ScheduleForm, by: User) -> None:
    """Set the schedule in the form, if it is valid and the user may set it."""
    if not form.is_valid() or form.is_never or not by.has_perm("crawling.change_crawljob"):
        return
    try:
        set_schedule(crawl, form.as_timing(), by=by)
    except BadOrder as error:
        show_mistakes(form, error.errors)


def _not_allowed(closed: Sequence[ClosedAddress]) -> str:
    named = first_few_in_words([f"{one.address}:{one.port}" for one in closed])
    return f"not allowed yet: {named}; allow {'it' if len(closed) == 1 else 'them'} below"


def _save_identity(form: CrawlForm, by: User) -> dict[str, str]:
    """Save the crawler's identity if the form asks for it. Return its mistakes by field."""
    token, contact = (
        form.cleaned_data.get("product_token", ""),
        form.cleaned_data.get("contact_url", ""),
    )
    if not contact or not by.has_perm("crawling.change_identity"):
        return {}
    try:
        set_identity(token, contact, by=by)
    except ValidationError as error:
        return {field: " ".join(sentences) for field, sentences in error.message_dict.items()}
    return {}


def _start(request: HttpRequest, crawl: CrawlJob, by: User) -> None:
    with errors_told(request, CrawlError):
        start_run(crawl, by=by)
        messages.success(request, f"{crawl.name} is saved, and its start was requested.")
