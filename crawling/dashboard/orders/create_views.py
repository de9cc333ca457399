"""The pages that make a crawl and a template of it: the form for a new crawl, and all templates."""

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
from django.utils.text import capfirst
from django.views.decorators.vary import vary_on_headers

from allocation.selectors import format_amounts
from allocation.wording import listed, some, whole_number
from crawling.base.encrypted_text import SealBroken
from crawling.base.errors import BadOrder, CrawlError, NoPool
from crawling.dashboard.base.trouble import errors_told
from crawling.dashboard.orders.forms.create import CrawlForm, EditForm, as_answers
from crawling.dashboard.orders.forms.sections import sections_of
from crawling.installation.identity import allow, identity, set_identity
from crawling.installation.permissions import require_act
from crawling.installation.pools import capacity_of, default_pool, pool_named
from crawling.models import AllowedNetwork, CrawlJob, Inquiry, InquiryKind, OrderTemplate
from crawling.orders.estimates import estimate
from crawling.orders.order import CrawlOrder
from crawling.orders.sections.fetching import masked_in
from crawling.previews.inquiries import question_of
from crawling.previews.seed_fetch_results import SeedTestFetch
from crawling.previews.seed_fetches import MOST_TRIED, request_test_fetch
from crawling.previews.seed_names import await_names, request_name_lookups
from crawling.runs.crawls.creation import check_order, create_crawl, order_of
from crawling.runs.crawls.tags import set_tags
from crawling.runs.crawls.templates import as_crawl, remove_template, save_template, templates_for
from crawling.runs.seed_checks import ClosedAddress, closed_addresses
from crawling.runs.start import start_run
from serving.access import AuthenticatedRequest, authenticated
from serving.requests import wants_fragment

#: the templates that are offered
TEMPLATES = 50
#: the note of a rule of access that was made beside the seeds
ALLOWED_HERE = "allowed on the form of a new crawl"


def needs_pool(view: Callable[..., HttpResponse]) -> Callable[..., HttpResponse]:
    """The form needs a pool: where there is none yet, the list of crawls says what to do."""

    @wraps(view)
    def told(request: HttpRequest, **named: Any) -> HttpResponse:
        with errors_told(request, NoPool):
            return view(request, **named)
        return redirect("crawling:crawls")

    return told


@authenticated(needs="crawling.add_crawljob", methods=("GET", "HEAD", "POST"))
@needs_pool
def new(request: AuthenticatedRequest) -> HttpResponse:
    """Ask for a crawl's order, with the mistakes beside the fields; make it, and start it if asked
    to.
    """
    if request.method != "POST":
        return _page(
            request,
            CrawlForm(initial=_to_begin_with(request), capacity=capacity_of(default_pool())),
        )
    key = request.POST.get("key", "")[:200]
    made, is_to_start = _made_before(request.user, key), "start" in request.POST
    if made is None:
        form = CrawlForm(request.POST, request.FILES, capacity=_capacity_for(request.POST))
        form.is_valid()
        seeds = form.seeds_in_order()
        if is_to_start:
            await_names(seeds, by=request.user)
        closed = closed_addresses(seeds)
        mistakes = {"seeds": _not_allowed(closed)} if is_to_start and closed else {}
        made = _make(form, request.user, key, mistakes) or _made_before(request.user, key)
        if made is None:
            return _page(request, form, closed=closed)
    if is_to_start:
        _start(request, made, request.user)
    else:
        messages.success(request, f"{made.name} is saved; nothing is fetched until it is started.")
    return redirect("crawling:crawl", made.pk)


@authenticated(needs="crawling.add_allowednetwork", methods=("POST",))
@needs_pool
def allow_address(request: AuthenticatedRequest) -> HttpResponse:
    """Allow crawls the `address` on the `port` that a seed of the form names; the form comes back
    as it was filled in.
    """
    form = form_of(request)
    address, _, port = request.POST.get("allow", "").rpartition(" ")
    number = whole_number(port) or 0
    rule = AllowedNetwork(network=address, port_from=number, port_to=number, note=ALLOWED_HERE)
    try:
        allow(rule, by=request.user)
    except ValidationError as error:
        messages.error(request, " ".join(error.messages))
    else:
        messages.success(request, f"{rule} is allowed from the next fetch on.")
    return _page(request, CrawlForm(initial=form.answers, capacity=form.capacity))


@authenticated(needs="crawling.add_crawljob", methods=("POST",))
@needs_pool
def test_fetch(request: AuthenticatedRequest) -> HttpResponse:
    """Let the first seeds of the form be tried in the background; `tested` shows the answers."""
    form = form_of(request)
    mistakes = _say_who(form, request.user)
    inquiry = None
    if not mistakes:
        inquiry, mistakes = request_test_fetch(
            form.as_order(), answers=form.answers, by=request.user
        )
    is_part = wants_fragment(request)
    if inquiry and not is_part:
        return redirect("crawling:tested", inquiry.pk)
    facts = {"inquiry": inquiry, "mistakes": form.in_words(mistakes), "has_tried": True}
    if is_part:
        return render(request, "crawling/_test_fetch.html", facts)
    return _page(request, CrawlForm(initial=form.answers, capacity=form.capacity), **facts)


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
    except SealBroken:  # the job has told it; the form begins anew
        question = {"order": {"seeds": []}, "answers": _to_begin_with(request)}
    facts = {
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
    return _page(request, CrawlForm(initial=answers, capacity=capacity), **facts)


@authenticated(needs="crawling.add_crawljob", methods=("POST",))
@needs_pool
def check(request: AuthenticatedRequest) -> JsonResponse:
    """The mistakes in the form, the settings of its sections, and the estimate of the crawl's
    requests. `is_resolving`: names of seeds are being looked up, and may turn out to be closed.
    """
    form = form_of(request)
    foreseen: list[str] = []
    with transaction.atomic():  # a contact counts as it is typed, and is not saved yet
        mistakes = _say_who(form, request.user)
        try:
            order, _ = check_order(form.as_order(), by=request.user)
            foreseen = [*estimate(order), _reserved(order)]
        except BadOrder as error:
            mistakes = error.errors | mistakes
        transaction.set_rollback(True)
    form.blame(mistakes)
    if not foreseen:
        wrong = [str(form.fields[name].label) for name in form.fields if name in form.errors]
        foreseen = [f"No estimate yet. To fill in or correct: {listed(wrong) or 'an answer'}."]
    seeds = form.seeds_in_order()
    asked = request_name_lookups(seeds, by=request.user)
    closed = {"closed": closed_addresses(seeds)}
    part = render_to_string("crawling/_closed_addresses.html", closed, request)
    is_resolving = bool(asked and asked.is_open)
    return checked(form, foreseen, closed=part.strip(), is_resolving=is_resolving)


def _reserved(order: CrawlOrder) -> str:
    """The units that the crawl's processes may hold of the pool that all crawls share."""
    amounts = listed(format_amounts(pool_named(order.pool).pk, order.claim))
    each = "It reserves" if order.processes == 1 else "Each of its workers reserves"
    return f"{each} at most {amounts}."


def checked(form: CrawlForm | EditForm, foreseen: list[str], **more: str | bool) -> JsonResponse:
    """The answer that order.js shows."""
    told = {key: folded.told for key, folded in sections_of(form).items()}
    errors = {name: str(sentences[0]) for name, sentences in form.errors.items()}
    return JsonResponse({"errors": errors, "told": told, "estimate": foreseen, **more})


def form_of(request: HttpRequest) -> CrawlForm:
    form = CrawlForm(request.POST, request.FILES, capacity=_capacity_for(request.POST))
    form.is_valid()
    form.keep_lines()
    return form


def _capacity_for(answers: Mapping[str, Any]) -> dict[str, int]:
    """The capacity of the pool chosen; where there is none of that name, of the default pool."""
    try:
        return capacity_of(pool_named(str(answers.get("pool", ""))))
    except BadOrder:
        return capacity_of(default_pool())


def _page(request: HttpRequest, form: CrawlForm, **facts: Any) -> HttpResponse:
    who = identity()
    key = request.POST.get("key") or uuid4().hex
    facts |= {
        "form": form,
        "who": who,
        "asks_who": not who.contact_url,
        "key": key,
        "sections": sections_of(form, unfolded=request.POST.getlist("unfolded")),
        "templates": OrderTemplate.objects.all()[:TEMPLATES],
    }
    return render(request, "crawling/new.html", facts)


def _to_begin_with(request: AuthenticatedRequest) -> dict[str, Any]:
    """The first contents of the form: those of another crawl, of a template, or the usual ones."""
    answers = {"product_token": identity().product_token}
    if clone := request.GET.get("clone", ""):
        crawl = get_object_or_404(CrawlJob, pk=whole_number(clone) or 0)
        require_act(request.user, crawl)
        if left_out := masked_in(order_of(crawl)):
            told = f"The secrets of {crawl.name} are not copied: {', '.join(left_out)}."
            messages.info(request, told)
        return {**answers, **as_answers(crawl, capacity_of(default_pool()))}
    if template := request.GET.get("template", ""):
        try:
            like = as_crawl(get_object_or_404(OrderTemplate, pk=whole_number(template) or 0))
        except BadOrder as error:
            messages.error(
                request,
                "This template says what no order says any more, so that it cannot be used: "
                f"{error}.",
            )
        else:
            return {**answers, **as_answers(like, capacity_of(default_pool()))}
    return answers


def _made_before(by: User, key: str) -> CrawlJob | None:
    """The crawl that an earlier press of the same button made."""
    return CrawlJob.objects.filter(created_by=by, idempotency_key=key).first() if key else None


def _make(form: CrawlForm, by: User, key: str, known: Mapping[str, str]) -> CrawlJob | None:
    """The crawl, or None with the errors in the form, which was read before. With `known` mistakes
    it is not made, and the others are told as well.

    The identity is saved together with the crawl or not at all.
    """
    mistakes = dict(known)
    try:
        with transaction.atomic():
            mistakes |= _say_who(form, by)
            crawl = create_crawl(form.as_order(), by=by, idempotency_key=key)
            if mistakes or form.errors:
                raise BadOrder({})
            return set_tags(crawl, form.cleaned_data["tags"], by=by)
    except BadOrder as error:
        form.blame({**error.errors, **mistakes})
        return None


def _not_allowed(closed: Sequence[ClosedAddress]) -> str:
    named = some([f"{one.address} port {one.port}" for one in closed])
    return f"no crawl may fetch from these addresses yet: {named}; allow them below"


def _say_who(form: CrawlForm, by: User) -> dict[str, str]:
    """Save who crawls, if the form says it; returns what is wrong with it by field."""
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


@authenticated(needs="crawling.view_crawljob")
def templates(request: AuthenticatedRequest) -> HttpResponse:
    return render(request, "crawling/templates.html", {"rows": templates_for(request.user)})


@authenticated(needs="crawling.add_crawljob", methods=("POST",))
def keep_template(request: AuthenticatedRequest, pk: int) -> HttpResponse:
    crawl = get_object_or_404(CrawlJob, pk=pk)
    try:
        template = save_template(crawl, request.POST.get("template", ""), by=request.user)
    except BadOrder as error:
        messages.error(request, f"The template is not kept. {capfirst(str(error))}.")
    else:
        messages.success(
            request, f"{template.name} is kept as a template; the page for a new crawl offers it."
        )
    return redirect("crawling:crawl", pk)


@authenticated(needs="crawling.delete_crawljob", methods=("POST",))
def delete_template(request: AuthenticatedRequest, pk: int) -> HttpResponse:
    template = get_object_or_404(OrderTemplate, pk=pk)
    remove_template(template, by=request.user)
    messages.success(request, f"The template {template.name} is deleted; crawls made from it stay.")
    return redirect("crawling:templates")
