"""The page on which a pool is made."""

from __future__ import annotations

from django.contrib import messages
from django.contrib.admin.models import ADDITION, LogEntry
from django.http import HttpResponse
from django.shortcuts import redirect, render

from allocation.errors import AllocationError
from allocation.forms import NewPoolForm
from allocation.services import create_pool_like
from serving.access import AuthenticatedRequest, authenticated


@authenticated(needs="allocation.change_pool", methods=("GET", "HEAD", "POST"))
def new_pool(request: AuthenticatedRequest) -> HttpResponse:
    """Ask for a name and for the units of each class, and make the pool."""
    form = NewPoolForm(request.POST if request.method == "POST" else None)
    if form.is_valid():
        try:
            pool = create_pool_like(name=form.cleaned_data["name"], capacity=form.capacity())
        except AllocationError as error:
            form.add_error("name", str(error))
        else:
            LogEntry.objects.log_actions(
                request.user.pk, [pool], ADDITION, "made the pool", single_object=True
            )
            messages.success(request, f"The pool {pool.name} is made; crawls can choose it.")
            return redirect(pool)
    status = 200 if request.method != "POST" else 422
    return render(request, "allocation/new_pool.html", {"form": form}, status=status)
