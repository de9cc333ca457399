"""Encrypts secrets in the database, so that neither the database nor a back-up of it reveals them
without SECRET_KEY.
"""

from __future__ import annotations

import json
from base64 import urlsafe_b64encode
from functools import lru_cache
from typing import Any

from cryptography.fernet import Fernet, InvalidToken, MultiFernet
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from django.conf import settings

from crawling.base.errors import CrawlError


class SealBroken(CrawlError):
    """Secrets were stored under another SECRET_KEY and can't be read; give them again, or set that
    key as it was.
    """


def seal(secrets: Any) -> str:
    """Seal data that JSON can represent as text that only this site's SECRET_KEY opens."""
    return _cipher(_secret_keys()).encrypt(json.dumps(secrets).encode()).decode()


def unseal(text: str) -> Any:
    """The sealed data. Raises SealBroken."""
    try:
        return json.loads(_cipher(_secret_keys()).decrypt(text.encode()))
    except InvalidToken as error:
        raise SealBroken from error


def _secret_keys() -> tuple[str, ...]:
    """The current key and earlier keys, with which older data can still be read."""
    return (settings.SECRET_KEY, *map(str, settings.SECRET_KEY_FALLBACKS))


@lru_cache(maxsize=4)
def _cipher(keys: tuple[str, ...]) -> MultiFernet:
    return MultiFernet([Fernet(urlsafe_b64encode(_derived_key(key))) for key in keys])


def _derived_key(key: str) -> bytes:
    """A key for this purpose only. Neither SECRET_KEY nor another key derived from it can be
    computed from this key.
    """
    return HKDF(
        algorithm=SHA256(), length=32, salt=None, info=b"crawlsite secrets of crawls"
    ).derive(key.encode())
