"""Tokens by which programs log in."""

from __future__ import annotations

from django.conf import settings
from django.db import models


class ApiToken(models.Model):
    """A program's password for one user. Only its SHA-256 is kept, so nobody can read it again."""

    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="api_tokens")
    name = models.CharField(max_length=100, help_text="what uses it")
    digest = models.CharField(max_length=64, unique=True)
    created_at = models.DateTimeField(auto_now_add=True)
    last_used_at = models.DateTimeField(null=True)
    expires_at = models.DateTimeField(null=True, help_text="from then on it opens nothing; empty: it stays until it is revoked")

    class Meta:
        constraints = [models.UniqueConstraint(fields=["user", "name"], name="a_users_tokens_have_different_names")]

    def __str__(self) -> str:
        return f"{self.name} of {self.user}"
