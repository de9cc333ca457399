"""The stored section of an order about requests. Secrets are sealed, with the origins to which they
may be sent; all other fields are in clear.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Set
from typing import Any
from urllib.parse import urlsplit

from allocation.wording import first_few_in_words
from crawling.base.encrypted_text import seal, unseal
from crawling.models import CrawlJob
from crawling.orders.sections.fetching import SECRET_FIELDS, FetchingPart
from crawling.web.addresses import Address, canonical_address, read_address
from crawling.web.secret_headers import MASK, Secret, origins_of

SEALED = "sealed"
RECIPIENTS = "recipients"
#: the origins to which each secret may be sent
Granted = Mapping[Secret, frozenset[str]]
LOGIN = "login_fields"


def fetching_column(part: FetchingPart, given_for: Granted) -> dict[str, Any]:
    fields = FetchingPart.model_validate(part.model_dump(include=set(FetchingPart.model_fields)))
    secrets = {name: value for name in SECRET_FIELDS if (value := getattr(fields, name))}
    stored = fields.masked()
    if secrets:
        stored[SEALED] = seal(secrets)
    if recipients := _secrets_in_column(given_for):
        stored[RECIPIENTS] = recipients
    return stored


def origins_granted_to_seeds(part: FetchingPart, seeds: list[str]) -> dict[Secret, frozenset[str]]:
    """The origins to which secrets may be sent if they are given now: the login's own site, and for
    all others the origins of the seeds.
    """
    if not any(part.secrets()):
        return {}
    of_seeds = origins_of(canonical_address(seed) for seed in seeds)
    of_login = origins_of([canonical_address(part.login_url)]) if part.login_url else of_seeds
    return {secret: of_login if secret[0] == LOGIN else of_seeds for secret in part.secrets()}


def origins_of_secrets(crawl: CrawlJob) -> dict[Secret, frozenset[str]]:
    """The origins to which each of a crawl's secrets may be sent."""
    return {
        (field, key): frozenset(grant["origins"])
        for grant in crawl.fetching.get(RECIPIENTS, ())
        for field, keys in grant["secrets"].items()
        for key in keys
    }


def _secrets_in_column(given_for: Granted) -> list[dict[str, Any]]:
    """The secrets as the column stores them. Secrets that were given together share a list of
    origins.
    """
    together: dict[frozenset[str], dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    for (field, key), origins in given_for.items():
        together[origins][field].append(key)
    return [
        {"origins": sorted(origins), "secrets": dict(secrets)}
        for origins, secrets in together.items()
    ]


def fields_without_secrets(crawl: CrawlJob) -> dict[str, Any]:
    """The fields without secrets."""
    return {
        **FetchingPart().masked(),
        **{
            name: value
            for name, value in crawl.fetching.items()
            if name not in (SEALED, RECIPIENTS)
        },
    }


def fetching_of(crawl: CrawlJob) -> FetchingPart:
    """The fields with their secrets, for requests and for copies of the crawl.

    Raises SealBroken.
    """
    return FetchingPart.model_validate({**fields_without_secrets(crawl), **_secrets(crawl)})


def _secrets(crawl: CrawlJob) -> dict[str, Any]:
    masked = [name for name in SECRET_FIELDS if MASK in str(crawl.fetching.get(name))]
    empty: dict[str, Any] = {name: None if name == "proxy" else {} for name in masked}
    return {**empty, **(unseal(crawl.fetching[SEALED]) if SEALED in crawl.fetching else {})}


def fields_with_secrets(crawl: CrawlJob, fields: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of an edit, with the stored secret in place of each masked value.

    Raises SealBroken.
    """
    kept_values = fetching_of(crawl).model_dump()
    seen, meant, kept_now = (
        fields_without_secrets(crawl),
        dict(fields),
        unchanged_secrets(crawl, fields),
    )
    for name in SECRET_FIELDS & fields.keys():
        given = fields[name]
        if isinstance(given, dict) and isinstance(kept_values[name], dict):
            meant[name] = {
                key: kept_values[name].get(key, text) if (name, key) in kept_now else text
                for key, text in given.items()
            }
        elif given == seen[name]:
            meant[name] = kept_values[name]
    return meant


def unchanged_secrets(crawl: CrawlJob, fields: Mapping[str, Any]) -> set[Secret]:
    """The secrets in tables that an edit leaves unchanged, because it does not name their table or
    contains them masked.
    """
    found = set()
    for name, seen in fields_without_secrets(crawl).items():
        if name in SECRET_FIELDS and isinstance(seen, dict):
            given = fields.get(name, seen)
            same = given if isinstance(given, dict) else {}
            found |= {(name, key) for key, text in seen.items() if same.get(key) == text}
    return found


def change_fetching_fields(
    crawl: CrawlJob, values: Mapping[str, Any], kept_as_shown: Set[Secret] = frozenset()
) -> dict[str, tuple[Any, Any]]:
    """Change checked fields of the crawl, without saving it. Return the changed fields with their
    old and new values, masked where they are secret. A secret that was given again counts as
    changed if other origins get it now.

    kept_as_shown: secrets that were not given again. Raises SealBroken.
    """
    before, seen, had = fetching_of(crawl), fields_without_secrets(crawl), origins_of_secrets(crawl)
    part = before.model_copy(update=dict(values))
    has = {
        secret: origins
        if secret[0] in values and secret not in kept_as_shown
        else had.get(secret, frozenset())
        for secret, origins in origins_granted_to_seeds(part, crawl.seeds).items()
    }
    changed = {name for name, value in values.items() if getattr(before, name) != value}
    changed |= {secret[0] for secret in has if has[secret] != had.get(secret, frozenset())}
    if changed:
        crawl.fetching = fetching_column(part, has)
    return {name: (seen[name], crawl.fetching[name]) for name in changed}


def recipient_changes(before: Granted, after: Granted) -> dict[str, tuple[str | None, str | None]]:
    """The secrets that are sent to other origins than before, for the audit log."""
    return {
        f"{field} {key} for": (
            _origins_text(before.get((field, key))),
            _origins_text(after.get((field, key))),
        )
        for field, key in sorted({*before, *after})
        if before.get((field, key)) != after.get((field, key))
    }


def _origins_text(origins: frozenset[str] | None) -> str | None:
    if origins is None:
        return None
    return first_few_in_words(sorted(origins)) or "no site"


def origins_without_secrets(crawl: CrawlJob, seeds: Iterable[Address]) -> list[str]:
    """Origins of these seeds to which a secret of the crawl is not sent, because the secret was
    given for other origins.
    """
    secrets = [
        origins for (field, _), origins in origins_of_secrets(crawl).items() if field == "headers"
    ]
    known = frozenset.intersection(*secrets) if secrets else None
    return [] if known is None else sorted({seed.origin for seed in seeds} - known)


def secret_recipient_errors(
    crawl: CrawlJob, part: FetchingPart, fields: Mapping[str, Any]
) -> dict[str, str]:
    """The mistakes of secrets that an edit would send elsewhere and that must therefore be given
    again. If the login moves to another site, these are its secrets; if the proxy changes, all
    secrets, since a proxy reads everything that is not encrypted.
    """
    had, same, errors = origins_of_secrets(crawl), unchanged_secrets(crawl, fields), {}
    if part.login_url and "login_url" in fields:
        site = read_address(part.login_url).origin
        led = [
            key for field, key in same if field == LOGIN and site not in had.get((field, key), ())
        ]
        if led:
            errors[LOGIN] = (
                f"were given for another site than {site}; give {first_few_in_words(sorted(led))} "
                "anew together with login_url"
            )
    secret = sorted(f"{field} {key}" for field, key in same & _all_secrets(crawl))
    if part.proxy and _proxy_route(part.proxy) != _proxy_route(fetching_of(crawl).proxy) and secret:
        errors["proxy"] = (
            f"another proxy reads what is not encrypted; give {first_few_in_words(secret)} anew "
            "together with it, or make another crawl"
        )
    return errors


def _all_secrets(crawl: CrawlJob) -> set[Secret]:
    return {*origins_of_secrets(crawl), *(("posts", url) for url in crawl.order.fetching.posts)}


def _proxy_route(proxy: str | None) -> tuple[str, str | None, int | None]:
    parts = urlsplit(proxy or "")
    return parts.scheme, parts.hostname, parts.port
