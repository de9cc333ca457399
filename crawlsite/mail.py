"""Turns MAIL_URL into Django's settings."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import unquote, urlsplit

#: scheme -> the usual port; `smtps` speaks TLS from the first byte, `smtp+tls` asks for it
#: (STARTTLS) and sends nothing without
PORTS = {"smtp": 25, "smtp+tls": 587, "smtps": 465}


@dataclass(frozen=True)
class MailServer:
    """Where e-mail is handed in; without a host nowhere."""

    host: str = ""
    port: int = 0
    user: str = ""
    password: str = ""
    use_ssl: bool = False
    use_tls: bool = False


def mail_server(url: str) -> MailServer:
    """The server of `smtp://user:password@host:port`, which `crawlsite.env` has checked; empty:
    none.
    """
    if not url:
        return MailServer()
    parts = urlsplit(url)
    return MailServer(
        host=parts.hostname or "",
        port=parts.port or PORTS[parts.scheme],
        user=unquote(parts.username or ""),
        password=unquote(parts.password or ""),
        use_ssl=parts.scheme == "smtps",
        use_tls=parts.scheme == "smtp+tls",
    )
