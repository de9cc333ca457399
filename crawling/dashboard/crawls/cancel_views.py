"""Buttons that cancel an inquiry of a page, or repeat it."""

from __future__ import annotations

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect

from crawling.base.encrypted_text import SealBroken
from crawling.base.errors import InquiriesBusy, WrongState
from crawling.dashboard.base.requests import next_page, redirect_back
from crawling.dashboard.base.trouble import errors_told
from crawling.jobs.cancel import cancel_job
from crawling.models import Inquiry, InquiryKind
from crawling.previews.inquiries import ask_again
from crawling.previews.run_comparison import asked_together
from serving.access import AuthenticatedRequest, authenticated
from serving.requests import wants_fragment


@authenticated(needs="crawling.view_crawljob", methods=("POST",))
def cancel_asked(request: AuthenticatedRequest, inquiry_id: int) -> HttpResponse:
    inquiry = get_object_or_404(Inquiry, pk=inquiry_id)
    try:
        cancel_job(inquiry, by=request.user)
    except WrongState as error:
        if not wants_fragment(request):  # the list of jobs shows the new state
            messages.error(request, str(error))
    return _redirect_to_page(request, inquiry, inquiry)


@authenticated(needs="crawling.view_crawljob", methods=("POST",))
def ask_inquiry_again(request: AuthenticatedRequest, inquiry_id: int) -> HttpResponse:
    inquiry = get_object_or_404(Inquiry, pk=inquiry_id)
    another = inquiry
    with errors_told(request, InquiriesBusy, SealBroken, WrongState):
        another = asked_again(request, inquiry)
    return _redirect_to_page(request, inquiry, another)


def asked_again(request: AuthenticatedRequest, inquiry: Inquiry) -> Inquiry:
    """Repeat a cancelled inquiry, with the inquiries that were cancelled together with it. Return
    the new inquiry. Raises PermissionDenied, InquiriesBusy, SealBroken, and WrongState if it was
    not cancelled.
    """
    if request.user not in (inquiry.by, inquiry.cancelled_by):
        raise PermissionDenied(f"Another user asked inquiry {inquiry.pk}.")
    is_fetch = inquiry.kind == InquiryKind.TEST_FETCH
    if is_fetch and not request.user.has_perm("crawling.add_crawljob"):
        raise PermissionDenied("Only operators make test fetches: ask one of them.")
    together = Inquiry.objects.filter(pk__in=asked_together(inquiry)).exclude(cancelled_at=None)
    new = {one.pk: ask_again(one, by=request.user) for one in together}
    if inquiry.pk not in new:
        raise WrongState(f"Inquiry {inquiry.pk} is {inquiry.state}: it was not cancelled.")
    return new[inquiry.pk]


def _redirect_to_page(
    request: AuthenticatedRequest, inquiry: Inquiry, shown: Inquiry
) -> HttpResponse:
    """Redirect to the page with the button. If the page has the inquiry in its address, the new
    inquiry takes its place.
    """
    if inquiry.kind == InquiryKind.TEST_FETCH:
        return redirect("crawling:tested", shown.pk)
    page = next_page(request)
    if page and (named := f"/text/{inquiry.pk}/") in page:
        return redirect(page.replace(named, f"/text/{shown.pk}/"))
    return redirect_back(request)
