"""Who the crawler says it is, and where beyond the public internet it may go."""

from __future__ import annotations

import ipaddress
import re

from django.conf import settings
from django.core.exceptions import ValidationError
from django.core.validators import MaxValueValidator, MinValueValidator, RegexValidator
from django.db import models
from django.db.models import F, Q

#: RFC 9309, section 2.2.1: the product token is what robots.txt names
PRODUCT_TOKEN = re.compile(r"[A-Za-z_-]{1,64}")
#: visible ASCII: it becomes part of a header
CONTACT = re.compile(r"(https?://|mailto:)[!-~]{3,200}")


class Identity(models.Model):
    """The one row that says who asks: every request carries it, and robots.txt is read by its token."""

    product_token = models.CharField(
        max_length=64,
        default="crawlsite",
        validators=[RegexValidator(rf"\A{PRODUCT_TOKEN.pattern}\Z", "Letters, - and _ only, as robots.txt will name it.")],
        help_text="the name that site owners may write into robots.txt",
    )
    contact_url = models.CharField(
        max_length=210,
        blank=True,
        validators=[RegexValidator(rf"\A{CONTACT.pattern}\Z", "Give a page (https://…) or a mailbox (mailto:…).")],
        help_text="where site owners reach you: a page about the crawl, or mailto:you@example.org",
    )

    class Meta:
        verbose_name_plural = "identity"
        constraints = [models.CheckConstraint(condition=Q(pk=1), name="there_is_one_identity")]

    def __str__(self) -> str:
        return self.user_agent

    @property
    def user_agent(self) -> str:
        return f"{self.product_token}/1.0 (+{self.contact_url})" if self.contact_url else f"{self.product_token}/1.0"


def check_network(text: str) -> None:
    try:
        ipaddress.ip_network(text)
    except ValueError as error:
        raise ValidationError(f"{error}. Write a network like 10.1.0.0/16 or one address like 127.0.0.1.") from error


class AllowedNetwork(models.Model):
    """Addresses and ports that may be fetched although they are not public. Only administrators add rows."""

    network = models.CharField(max_length=50, validators=[check_network], help_text="like 10.1.0.0/16 or 127.0.0.1")
    port_from = models.PositiveIntegerField(default=80, validators=[MinValueValidator(1), MaxValueValidator(65535)])
    port_to = models.PositiveIntegerField(default=80, validators=[MinValueValidator(1), MaxValueValidator(65535)])
    note = models.CharField(max_length=200, blank=True, help_text="why, and who asked for it")

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["network", "port_from", "port_to"], name="a_network_is_allowed_once"),
            models.CheckConstraint(condition=Q(port_from__lte=F("port_to")), name="ports_run_upwards"),
        ]

    def __str__(self) -> str:
        ports = f"{self.port_from}" if self.port_from == self.port_to else f"{self.port_from}-{self.port_to}"
        return f"{self.network} port {ports}"


class BlockedHost(models.Model):
    """A host that no crawl may fetch from. Written by `crawling.services.blocking` only."""

    name = models.CharField(max_length=260, primary_key=True, db_collation="C", help_text="as in Host")
    reason = models.CharField(max_length=300)
    blocked_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="+")
    blocked_at = models.DateTimeField(auto_now_add=True)

    def __str__(self) -> str:
        return self.name
