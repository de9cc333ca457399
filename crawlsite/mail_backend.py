"""Django's backend for mail servers, with a time limit. smtplib limits only the time of each line,
so it would wait for ever for a server that never stops sending.
"""

from __future__ import annotations

import smtplib
import threading
import time
from socket import SHUT_RDWR

from django.core.mail.backends import smtp

#: the time limit for everything that a server sends in one connection, in which one mail is sent
TALK_SECONDS = 30.0


class _DeadlineSMTP(smtplib.SMTP):
    _ends_at: float | None = None

    def getreply(self) -> tuple[int, bytes]:
        self._ends_at = self._ends_at or time.monotonic() + TALK_SECONDS
        assert self.sock is not None
        hang_up = threading.Timer(self._ends_at - time.monotonic(), self.sock.shutdown, [SHUT_RDWR])
        hang_up.start()
        try:
            return super().getreply()
        except smtplib.SMTPServerDisconnected:
            if time.monotonic() < self._ends_at:
                raise
            raise TimeoutError(
                f"it has talked for {TALK_SECONDS:.0f} s and not come to an end"
            ) from None
        finally:
            hang_up.cancel()


class _DeadlineSMTPSSL(_DeadlineSMTP, smtplib.SMTP_SSL):
    pass


class EmailBackend(smtp.EmailBackend):
    """The backend that EMAIL_BACKEND names."""

    @property
    def connection_class(self) -> type[smtplib.SMTP]:
        return _DeadlineSMTPSSL if self.use_ssl else _DeadlineSMTP
