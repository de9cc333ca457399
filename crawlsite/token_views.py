"""The page on which somebody makes and revokes tokens for programs of their own."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_variables

from crawlsite.models import ApiToken
from crawlsite.tokens import BadToken, issue_token, revoke_token
from serving.access import AuthenticatedRequest, authenticated


@authenticated(needs="", methods=("GET", "HEAD", "POST"))
@never_cache
@sensitive_variables("made")
def tokens(request: AuthenticatedRequest) -> HttpResponse:
    """List one's tokens; make one, and show it in this answer only."""
    made, errors = "", {}
    if request.method == "POST":
        try:
            made = issue_token(
                request.user, request.POST.get("name", ""), request.POST.get("days", "").strip()
            )
        except BadToken as trouble:
            errors = trouble.errors
    rows = ApiToken.objects.filter(user=request.user).order_by("name")
    typed = {} if made else request.POST
    return render(
        request,
        "account/tokens.html",
        {"tokens": rows, "made": made, "errors": errors, "typed": typed, "now": timezone.now()},
    )


@authenticated(needs="", methods=("POST",))
def revoke(request: AuthenticatedRequest, pk: int) -> HttpResponse:
    """Take one of one's own tokens back."""
    token = get_object_or_404(ApiToken, pk=pk, user=request.user)
    revoke_token(token, by=request.user)
    messages.success(request, f"The token {token.name} opens nothing any more.")
    return redirect("tokens")
