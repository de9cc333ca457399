"""Whatever two servers say over kept connections, no byte of one answer is in another."""

from __future__ import annotations

import threading
from collections import deque

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule

from crawling.web.fetch.adapter import PinnedSession
from tests.crawling.raw import get, read_request, serve_raw, wait_until_it_is_there

pytestmark = pytest.mark.slow

BODY = b"%s%d;"


def stated(body):
    return b"Content-Length: %d\r\n\r\n%s" % (len(body), body)


def chunked(body, fields=b"Transfer-Encoding: chunked\r\n"):
    return fields + b"\r\n%x\r\n%s\r\n0\r\n\r\n" % (len(body), body)


def chunked_by_byte(body):
    return b"Transfer-Encoding: chunked\r\n\r\n%s0\r\n\r\n" % b"".join(
        b"1\r\n%c\r\n" % byte for byte in body
    )


FORMS = {
    "stated": stated,
    "chunked": chunked,
    "by byte": chunked_by_byte,
    "both": lambda body: b"Content-Length: 1\r\n" + chunked(body),
    "not last": lambda body: chunked(body, b"Transfer-Encoding: chunked, gzip\r\n"),
    "too short": lambda body: b"Content-Length: %d\r\n\r\n%s" % (len(body) - 1, body),
    "too long": lambda body: b"Content-Length: %d\r\n\r\n%s" % (len(body) + 1, body),
    "signed": lambda body: b"Content-Length: +%d\r\n\r\n%s" % (len(body), body),
    "twice": lambda body: b"Content-Length: 1\r\n" + stated(body),
}
BEFORE = [b"", b"HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n"]
#: what follows an answer: nothing, rubbish, or what may be taken for the next
BEHIND = [
    b"",
    b"zz",
    b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nEVIL",
    b"HTTP/1.1 103 X\r\n\r\n",
]


class TwoServers(RuleBasedStateMachine):
    """Each answer says which server's it is, and to which of its requests."""

    @initialize()
    def begin(self):
        self.session, self.plans, self.counts = PinnedSession(read_seconds=0.3), {}, {}
        self.contexts, self.urls, self.said = [], {}, threading.Event()
        for name in (b"a", b"b"):
            self.plans[name], self.counts[name] = deque(), 0
            context = serve_raw(*[self.talk(name)] * 200)
            self.urls[name] = context.__enter__()[0]
            self.contexts.append(context)

    def talk(self, name):
        def serve(connection):
            own = connection.dup()

            def work():
                with own:
                    try:
                        while read_request(own):
                            pieces = self.plans[name].popleft()
                            for piece in pieces:
                                own.sendall(piece)
                            if len(pieces) > 1:
                                wait_until_it_is_there(own)
                            self.said.set()
                    except (OSError, IndexError):
                        self.said.set()

            threading.Thread(target=work, daemon=True).start()

        return serve

    @rule(
        name=st.sampled_from([b"a", b"b"]),
        form=st.sampled_from(sorted(FORMS)),
        before=st.sampled_from(BEFORE),
        behind=st.sampled_from(BEHIND),
        is_apart=st.booleans(),
    )
    def ask(self, name, form, before, behind, is_apart):
        self.counts[name] += 1
        body = BODY % (name, self.counts[name])
        head, blank, rest = (before + b"HTTP/1.1 200 OK\r\n" + FORMS[form](body)).rpartition(
            b"\r\n\r\n"
        )
        if form in ("chunked", "by byte", "both", "not last"):
            head, blank, rest = before + b"HTTP/1.1 200 OK\r\n" + FORMS[form](body), b"", b""
        self.plans[name].clear()
        self.said.clear()
        self.plans[name].append(
            [head + blank, rest + behind] if is_apart else [head + blank + rest + behind]
        )

        fetched = get(self.urls[name], session=self.session)

        # what comes later than the next request is an answer to it by all that can be known
        assert self.said.wait(10)
        assert b"EVIL" not in fetched.body.read()
        if fetched.status == 200:
            wanted = body + behind if form == "too long" else body  # that is what it says it is
            assert wanted.startswith(fetched.body.read())

    def teardown(self):
        if hasattr(self, "session"):
            self.session.close()
            for context in self.contexts:
                context.__exit__(None, None, None)


TestTwoServers = TwoServers.TestCase
TestTwoServers.settings = settings(max_examples=25, stateful_step_count=12, deadline=None)
