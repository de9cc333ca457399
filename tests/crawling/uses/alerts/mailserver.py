"""A mail server on loopback that supports the part of SMTP that Python's client uses (RFC 5321)."""

from __future__ import annotations

import socketserver
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from email import message_from_bytes, policy
from email.message import EmailMessage


class MailServer(socketserver.ThreadingTCPServer):
    """Keeps the letters that it accepts; it refuses recipients in `refused` for good, and those in
    `greylisted` for now.

    `extensions` are further lines of its answer to EHLO; if `is_endless`, that answer never ends.
    """

    allow_reuse_address = daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Talk)
        self.letters: list[tuple[str, list[str], EmailMessage]] = []
        self.refused: set[str] = set()
        self.greylisted: set[str] = set()
        self.extensions: list[str] = []
        self.is_endless = False


class _Talk(socketserver.StreamRequestHandler):
    server: MailServer

    def handle(self) -> None:
        with suppress(ConnectionError):  # the client may close the connection at any time
            self.talk()

    def talk(self) -> None:
        self.say("220 mail.test at your service")
        sender, recipients = "", []
        while line := self.rfile.readline().decode().strip():
            word, _, rest = line.partition(" ")
            match word.upper():
                case "EHLO" | "HELO":
                    self.greet()
                case "MAIL":
                    sender, recipients = _mailbox(rest), []
                    self.say("250 go on")
                case "RCPT" if _mailbox(rest) in self.server.refused:
                    self.say("550 No such mailbox here")
                case "RCPT" if _mailbox(rest) in self.server.greylisted:
                    self.say("451 Try again later")
                case "RCPT":
                    recipients.append(_mailbox(rest))
                    self.say("250 go on")
                case "DATA":
                    self.say("354 end with a full stop")
                    self.server.letters.append((sender, recipients, self.letter()))
                    self.say("250 taken")
                case "RSET":
                    self.say("250 forgotten")
                case "QUIT":
                    self.say("221 goodbye")
                    return
                case _:
                    self.say("500 what?")

    def greet(self) -> None:
        self.say(
            "\r\n".join(f"250-{extension}" for extension in ["mail.test", *self.server.extensions])
        )
        while self.server.is_endless:
            self.say("250-and more")
        self.say("250 HELP")

    def letter(self) -> EmailMessage:
        lines = []
        while (line := self.rfile.readline()) != b".\r\n":
            lines.append(line.removeprefix(b"."))
        return message_from_bytes(b"".join(lines), policy=policy.default)

    def say(self, line: str) -> None:
        self.wfile.write(f"{line}\r\n".encode())


def _mailbox(argument: str) -> str:
    return argument.partition("<")[2].partition(">")[0]


@contextmanager
def serve_mail() -> Iterator[MailServer]:
    with MailServer() as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()
