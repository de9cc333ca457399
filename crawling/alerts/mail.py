"""Alerts by e-mail: a delivery, through the mail server of MAIL_URL."""

from __future__ import annotations

import json
from smtplib import SMTPException, SMTPRecipientsRefused, SMTPResponseException

from django.conf import settings
from django.core.mail import EmailMessage, get_connection

from crawling.alerts.wording import letter, mailbox
from crawling.models import Delivery


def mail(delivery: Delivery) -> tuple[str, bool]:
    """A sentence, and whether the mail server has taken it.

    A second attempt has the same Message-ID, so that readers see one.
    """
    if not settings.EMAIL_HOST:
        return "Not sent: no mail server is set (MAIL_URL).", False
    to = mailbox(delivery.listener.url)
    subject, text = letter(json.loads(delivery.body))
    host = settings.DEFAULT_FROM_EMAIL.rpartition("@")[2].rstrip(">")
    headers = {"Message-ID": f"<delivery-{delivery.pk}@{host}>", "Auto-Submitted": "auto-generated"}
    try:
        with get_connection() as connection:
            EmailMessage(subject, text, to=[to], headers=headers, connection=connection).send()
    except SMTPRecipientsRefused as error:
        refusals = "; ".join(
            f"{code} {_text(answer)}" for code, answer in error.recipients.values()
        )
        return f"Refused by the mail server: {refusals}", False
    except SMTPResponseException as error:
        return f"Refused by the mail server: {error.smtp_code} {_text(error.smtp_error)}", False
    except (SMTPException, OSError) as error:
        return (
            f"Not sent: the mail server {settings.EMAIL_HOST}:{settings.EMAIL_PORT} cannot be "
            f"used ({error}).",
            False,
        )
    except ValueError:  # smtplib's own exception; its text would contain a part of the password
        return (
            f"Not sent: the mail server {settings.EMAIL_HOST} is logged in at in ASCII only; "
            "give MAIL_URL such a user and password.",
            False,
        )
    return "Taken by the mail server.", True


def _text(answer: bytes | str) -> str:
    return answer.decode(errors="replace") if isinstance(answer, bytes) else answer
