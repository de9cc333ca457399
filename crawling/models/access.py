"""The identity of the crawler, and the addresses beyond the public internet that it may fetch
from.
"""

from __future__ import annotations

import ipaddress
import os
import re
from collections.abc import Collection
from pathlib import Path
from typing import ClassVar

from django.conf import settings
from django.core.exceptions import ValidationError
from django.core.validators import MaxValueValidator, MinValueValidator, RegexValidator
from django.db import models
from django.db.models import F, Q

#: robots.txt addresses the crawler by its product token (RFC 9309, section 2.2.1)
PRODUCT_TOKEN = re.compile(r"[A-Za-z_-]{1,64}")
#: visible ASCII, since it becomes a part of a header
CONTACT = re.compile(r"(https?://|mailto:)[!-~]{3,200}")
#: the directories with passwords, with data of processes, and with devices
SYSTEM_DIRECTORIES = ("/proc", "/sys", "/dev", "/etc")


class Identity(models.Model):
    """The single row of the identity. Every request carries it, and robots.txt is read by its
    token.
    """

    product_token = models.CharField(
        max_length=64,
        default="crawlsite",
        validators=[
            RegexValidator(
                rf"\A{PRODUCT_TOKEN.pattern}\Z",
                "Letters, - and _ only, as robots.txt will name it.",
            )
        ],
        help_text="the name that site owners may write into robots.txt",
    )
    contact_url = models.CharField(
        max_length=210,
        blank=True,
        validators=[
            RegexValidator(
                rf"\A{CONTACT.pattern}\Z", "Give a page (https://…) or a mailbox (mailto:…)."
            )
        ],
        help_text="contact for site owners: a page about the crawl, or mailto:you@example.org",
    )
    purpose = models.TextField(
        blank=True,
        max_length=2000,
        help_text="what you crawl for and what becomes of the pages; site owners read it",
    )
    addresses = models.TextField(
        blank=True,
        max_length=1000,
        help_text="the networks that your crawls come from, one a line; site owners check them",
    )

    class Meta:
        verbose_name_plural = "identity"
        constraints = [models.CheckConstraint(condition=Q(pk=1), name="there_is_one_identity")]

    def __str__(self) -> str:
        return self.user_agent

    def clean(self) -> None:
        for network in self.networks:
            try:
                check_network(network)
            except ValidationError as error:
                raise ValidationError({"addresses": error.messages}) from error

    @property
    def networks(self) -> list[str]:
        return self.addresses.split()

    @property
    def user_agent(self) -> str:
        return (
            f"{self.product_token}/1.0 (+{self.contact_url})"
            if self.contact_url
            else f"{self.product_token}/1.0"
        )


def check_network(text: str) -> None:
    try:
        ipaddress.ip_network(text)
    except ValueError as error:
        raise ValidationError(
            f"{error}. Write a network like 10.1.0.0/16 or one address like 127.0.0.1."
        ) from error


class AccessRow(models.Model):
    """A row that allows something. Each allowed thing has one row."""

    #: the fields that are unique together
    KEY: ClassVar[tuple[str, ...]] = ("network",)

    class Meta:
        abstract = True

    def validate_unique(self, exclude: Collection[str] | None = None) -> None:
        """Report a duplicate at the first field of KEY. Django's own message would stand at no
        field of the form.
        """
        if {*self.KEY} & {*(exclude or ())}:
            return
        same = type(self)._default_manager.filter(
            **{name: getattr(self, name) for name in self.KEY}
        )
        if same.exclude(pk=self.pk).exists():
            sentence = f"{self} has a rule already. Remove that one first, to change its note."
            raise ValidationError({self.KEY[0]: sentence})


class AllowedNetwork(AccessRow):
    """Addresses and ports from which crawls may fetch although they are not public.

    Only administrators add rows.
    """

    KEY = ("network", "port_from", "port_to")

    network = models.CharField(
        max_length=50, validators=[check_network], help_text="like 10.1.0.0/16 or 127.0.0.1"
    )
    port_from = models.PositiveIntegerField(
        default=80, validators=[MinValueValidator(1), MaxValueValidator(65535)]
    )
    port_to = models.PositiveIntegerField(
        default=80, validators=[MinValueValidator(1), MaxValueValidator(65535)]
    )
    note = models.CharField(max_length=200, blank=True, help_text="why, and who asked for it")

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["network", "port_from", "port_to"], name="a_network_is_allowed_once"
            ),
            models.CheckConstraint(
                condition=Q(port_from__lte=F("port_to")), name="ports_run_upwards"
            ),
        ]

    def __str__(self) -> str:
        ports = (
            f"{self.port_from}"
            if self.port_from == self.port_to
            else f"{self.port_from}-{self.port_to}"
        )
        return f"{self.network} port {ports}"

    def clean(self) -> None:
        are_numbers = isinstance(self.port_from, int) and isinstance(self.port_to, int)
        if are_numbers and self.port_from > self.port_to:
            sentence = (
                f"Enter a port of {self.port_from} or more, as *Port from* is {self.port_from}."
            )
            raise ValidationError({"port_to": sentence})


class TrustedProxy(AccessRow):
    """A proxy that may fetch plain HTTP for crawls, and so chooses the address itself.

    Only administrators add rows.
    """

    KEY = ("host", "port")

    host = models.CharField(max_length=253, help_text="as crawls name it: a name or an address")
    port = models.PositiveIntegerField(validators=[MinValueValidator(1), MaxValueValidator(65535)])
    note = models.CharField(max_length=200, blank=True, help_text="why, and who asked for it")

    class Meta:
        verbose_name_plural = "trusted proxies"
        constraints = [
            models.UniqueConstraint(fields=["host", "port"], name="a_proxy_is_trusted_once")
        ]

    def __str__(self) -> str:
        return f"{self.host}:{self.port}"


class SharedNetwork(AccessRow):
    """Addresses that serve very many sites, such as a CDN's. No politeness clock is kept for them.

    Only administrators add rows.
    """

    network = models.CharField(
        max_length=50,
        unique=True,
        validators=[check_network],
        help_text="like 203.0.113.0/24 or 2001:db8::/32",
    )
    note = models.CharField(
        max_length=200, blank=True, help_text="whose it is, and where that stands"
    )

    def __str__(self) -> str:
        return self.network


def forbidden_parent_of(directory: str) -> str:
    """The directory of the system or of this installation because of which a directory must not be
    read; "" if there is none.

    Such a directory, its contents and its parents must not be allowed, since they contain keys,
    session data and data of other processes. Links are resolved first.
    """
    here = Path(directory).resolve()
    for place in (*SYSTEM_DIRECTORIES, settings.STATE_DIR, settings.ARCHIVE_DIR, settings.BASE_DIR):
        closed = Path(place).resolve()
        if here.is_relative_to(closed) or closed.is_relative_to(here):
            return str(place)
    return ""


def check_directory(text: str) -> None:
    if not text.startswith("/") or text != os.path.normpath(text) or text == "/":
        raise ValidationError(
            "Write a directory's whole path, like /srv/papers, without . or .. in it; / itself "
            "is too much."
        )
    if place := forbidden_parent_of(text):
        raise ValidationError(
            f"{place} is not for crawls, and this directory is in it or has it inside. "
            "Name another directory, or copy there what is to be crawled."
        )


class AllowedDirectory(AccessRow):
    """A directory with files that `file:` URLs may name, on every machine with workers.

    Only administrators add rows.
    """

    KEY = ("path",)

    path = models.CharField(
        max_length=500, unique=True, validators=[check_directory], help_text="like /srv/papers"
    )
    note = models.CharField(max_length=200, blank=True, help_text="why, and who asked for it")

    class Meta:
        verbose_name_plural = "allowed directories"

    def __str__(self) -> str:
        return self.path
