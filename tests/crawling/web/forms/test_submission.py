"""A form goes as the HTML Standard says (section 4.10.22)."""

from __future__ import annotations

import time
from urllib.parse import parse_qsl

import pytest

from crawling.web.document_stream import DocumentStream
from crawling.web.forms.controls import read_forms
from crawling.web.forms.login_form import fill_in_and_submit, is_same_form, login_form
from crawling.web.forms.submission import NotSent, Submission

FIELDS = {"user": "me", "pass": "p&w"}
#: the controls that FIELDS fill in, and what they send
TYPED = "<input name=user><input name=pass type=password>"
SENT = [("user", "me"), ("pass", "p&w")]
URL = "http://a.test/d/login?x=1"
#: processor time, on a machine that is busy with other things
MOST_SECONDS = 10


def page_of(html: str | bytes, charset: str | None = "utf-8"):
    body = html if isinstance(html, bytes) else html.encode()
    return read_forms(DocumentStream.of(body), charset, URL)


def sent(html: str | bytes, fields=FIELDS, charset: str | None = "utf-8") -> Submission:
    page = page_of(html, charset)
    form = login_form(page, fields)
    assert form is not None
    return fill_in_and_submit(form, page, fields)


def entries(html: str, fields=FIELDS) -> list[tuple[str, str]]:
    body = sent(f"<form method=post>{html}</form>", fields).body
    return parse_qsl((body or b"").decode(), keep_blank_values=True)


@pytest.mark.parametrize(
    ("controls", "more"),
    [
        ("<input type=hidden name=t value=1><input name=empty>", [("t", "1"), ("empty", "")]),
        ("<input type=checkbox name=a checked><input type=checkbox name=b>", [("a", "on")]),
        ("<input type=checkbox name=a value='' checked>", [("a", "")]),
        (
            "<input type=radio name=r value=1 checked><input type=radio name=r value=2 checked>",
            [("r", "2")],
        ),
        ("<select name=s><option>one<option>two</select>", [("s", "one")]),
        ("<select name=s><option disabled>0<option value=1>one</select>", [("s", "1")]),
        ("<select name=s size=2><option>one</select>", []),
        ("<select name=s><option selected>1<option selected> 2  3</select>", [("s", "2 3")]),
        (
            "<select name=s multiple><option selected>1<option><option selected value=x>2</select>",
            [("s", "1"), ("s", "x")],
        ),
        (
            "<select name=s><optgroup disabled><option>1</optgroup><option>2</select>",
            [("s", "2")],
        ),
        ("<textarea name=t>\n\na\rb\r\nc</textarea>", [("t", "\r\na\r\nb\r\nc")]),
        ("<input name=a disabled value=1><button name=b disabled></button>", []),
        (
            "<fieldset disabled><legend><input name=in></legend><legend><input name=out></legend>"
            "<input name=out></fieldset>",
            [("in", "")],
        ),
        ("<datalist><input name=a></datalist><template><input name=b></template>", []),
        (
            "<input type=submit name=go value='Log in'><input type=submit name=no>",
            [("go", "Log in")],
        ),
        ("<button type=button name=a></button><button name=b value=1>x</button>", [("b", "1")]),
        ("<button type=reset name=a></button><input type=button name=b>", []),
        ("<button name=off disabled></button><button name=on></button>", [("on", "")]),
        ("<input type=image name=i src=x><input type=submit name=s>", [("i.x", "0"), ("i.y", "0")]),
        ("<input type=image>", [("x", "0"), ("y", "0")]),
        ("<input type=file name=f value=x>", [("f", "")]),
        ("<input type=hidden name=_charset_ value=x>", [("_charset_", "UTF-8")]),
        ("<input name=_charset_ value=x>", [("_charset_", "x")]),
        ("<input name=q value=ש dir=auto dirname=q.dir>", [("q", "ש"), ("q.dir", "rtl")]),
        ("<textarea name=q dirname=d></textarea>", [("q", ""), ("d", "ltr")]),
        (
            "<input name=a value='x\ny'><input type=url name=b value=' u\n '>",
            [("a", "xy"), ("b", "u")],
        ),
        (
            "<input type=number name=n value=x><input type=number name=m value=1e3>",
            [("n", ""), ("m", "1e3")],
        ),
        ("<input type=range name=r><input type=color name=c>", [("r", "50"), ("c", "#000000")]),
        ("<input type=odd name=a value=1><input value=nameless>", [("a", "1")]),
        ("<input name=a value=1><input name=a value=2>", [("a", "1"), ("a", "2")]),
        ("<svg><input name=a></svg><object name=o></object>", []),
    ],
)
def test_a_form_sends_what_a_browser_would(controls, more):
    assert entries(TYPED + controls) == SENT + more


@pytest.mark.parametrize(
    "html",
    [
        "<table><form method=post><tr><td><input name=user></tr><tr><td><input name=pass "
        "type=password></table><input type=hidden name=t></form><input name=out>",
        f"<div><form method=post></div>{TYPED}<input name=t></form><input name=out>",
        f"<form method=post>{TYPED}<form action=/no><input name=t></form><input name=out>",
        f"<form method=post><div></form>{TYPED}<input name=t></div><input name=out>",
        "<form method=post id=f><input name=no form=g><input name=no form></form>"
        + f"{TYPED}<input name=t>".replace("<input", "<input form=f"),
        f"<form method=post><template></form><form></template>{TYPED}<input name=t></form>",
        f"<form method=post><textarea disabled></form></textarea>{TYPED}<input name=t></form>",
    ],
)
def test_a_control_belongs_to_the_form_that_a_browser_gives_it_to(html):
    said = sent(html)

    assert parse_qsl((said.body or b"").decode(), keep_blank_values=True) == [*SENT, ("t", "")]


@pytest.mark.parametrize(
    ("form", "url", "is_posted"),
    [
        ("<form method=POST action=in>", "http://a.test/d/in", True),
        ("<form method=post>", URL, True),
        ("<form method=post action=''>", URL, True),
        ("<base href=/app/><form method=post action=in#f>", "http://a.test/app/in", True),
        ("<base href=/app/><form method=post>", URL, True),
        ("<form action='/in?old=1'>", "http://a.test/in?user=me&pass=p%26w", False),
        ("<form method=odd>", "http://a.test/d/login?user=me&pass=p%26w", False),
        ("<form method=get action=/no><button formmethod=post formaction=/b>",
         "http://a.test/b", True),
        ("<form method=post action=/in><button name=b value=~ formmethod=get>",
         "http://a.test/in?b=%7E&user=me&pass=p%26w", False),
    ],
)  # fmt: skip
def test_a_form_goes_where_it_says(form, url, is_posted):
    said = sent(form + TYPED)

    assert (said.address.url, said.body is not None) == (url, is_posted)


@pytest.mark.parametrize(
    ("form", "sentence"),
    [
        ("<form action='javascript:go()' method=post>", "no address"),
        ("<form method=dialog>", "dialog"),
        ("<form action='ftp://a.test/' method=post>", "takes no forms"),
    ],
)
def test_a_form_that_leads_to_no_request_says_so(form, sentence):
    with pytest.raises(NotSent, match=sentence):
        sent(form + TYPED)


@pytest.mark.parametrize(
    ("page", "charset", "body"),
    [
        (b"<form method=post><input name=user><input name=h value=\xe9>", "iso-8859-1",
         b"user=gr%FCn%26%2320320%3B&h=%E9"),
        (b"<meta charset=windows-1251><form method=post><input name=user><input name=h value=\xe9>",
         None, b"user=gr%26%23252%3Bn%26%2320320%3B&h=%E9"),
        ("<form method=post accept-charset='odd windows-1252 utf-8'><input name=user>", "utf-8",
         b"user=gr%FCn%26%2320320%3B"),
        ("<form method=post accept-charset=odd><input name=user>", "iso-8859-1",
         b"user=gr%C3%BCn%E4%BD%A0"),
        ("<form method=post><input name=user>".encode("utf-16-le"), "utf-16le",
         b"user=gr%C3%BCn%E4%BD%A0"),
    ],
)  # fmt: skip
def test_a_form_is_written_in_the_encoding_that_it_or_its_page_names(page, charset, body):
    assert sent(page, {"user": "grün你"}, charset).body == body


def test_a_form_may_be_sent_in_parts():
    form = f"""<form method=post enctype=multipart/form-data>{TYPED}<input type=file name=f>
        <input type=hidden name='a"b' value="x\ny">"""

    said = sent(form)

    kind, _, boundary = said.content_type.partition("; boundary=")
    parts = (said.body or b"").split(f"--{boundary}".encode())
    assert kind == "multipart/form-data"
    assert parts == [
        b"",
        b'\r\nContent-Disposition: form-data; name="user"\r\n\r\nme\r\n',
        b'\r\nContent-Disposition: form-data; name="pass"\r\n\r\np&w\r\n',
        b'\r\nContent-Disposition: form-data; name="f"; filename=""\r\n'
        b"Content-Type: application/octet-stream\r\n\r\n\r\n",
        b'\r\nContent-Disposition: form-data; name="a%22b"\r\n\r\nx\r\ny\r\n',
        b"--\r\n",
    ]


def test_a_form_may_be_sent_as_plain_text():
    said = sent(f"<form method=post enctype=text/plain>{TYPED}")

    assert (said.content_type, said.body) == ("text/plain", b"user=me\r\npass=p&w\r\n")


@pytest.mark.parametrize(
    ("controls", "fields", "sent"),
    [
        ("<input type=submit name=a value=no><input type=submit name=a value=yes>",
         {"user": "me", "a": "yes"}, [("user", "me"), ("a", "yes")]),
        ("<button name=no></button><button name=a value=1></button>",
         {"user": "me", "a": "2"}, [("user", "me"), ("a", "2")]),
        ("", {"user": "me", "by_script": "1"}, [("user", "me"), ("by_script", "1")]),
        ("<input name=a disabled>", {"user": "me", "a": "1"}, [("user", "me"), ("a", "1")]),
        ("<select name=l><option value=1>de<option value=2>en</select>",
         {"user": "me", "l": "en"}, [("user", "me"), ("l", "2")]),
        ("<select name=l><option value=1>de</select>",
         {"user": "me", "l": "3"}, [("user", "me"), ("l", "3")]),
        ("<input type=checkbox name=k value=1><input type=checkbox name=j checked>",
         {"user": "me", "k": "1", "j": ""}, [("user", "me"), ("k", "1")]),
        ("<input type=radio name=r value=1 checked><input type=radio name=r value=2>",
         {"user": "me", "r": "2"}, [("user", "me"), ("r", "2")]),
        ("<input type=hidden name=user value=h>", {"user": "m\ne"},
         [("user", "me"), ("user", "h")]),
        ("<input type=hidden name=t value=old>", {"user": "me", "t": "new"},
         [("user", "me"), ("t", "new")]),
    ],
)  # fmt: skip
def test_what_was_typed_is_filled_in_as_a_person_would(controls, fields, sent):
    assert entries("<input name=user>" + controls, fields) == sent


def test_the_form_to_log_in_with_is_told_from_a_search_and_a_registration():
    page = f"""<form action=/search><input name=user></form>
        <form method=dialog action=/closed>{TYPED}</form>
        <form action=/register method=post>{TYPED}<input type=password name=again></form>
        <form action=/in method=post>{TYPED}</form><form action=/later method=post>{TYPED}</form>"""

    assert sent(page).address.url == "http://a.test/in"
    assert login_form(page_of(page), {"missing": ""}) is None
    assert login_form(page_of("<p>no form"), FIELDS) is None


def test_a_page_shows_the_form_again_if_it_has_the_same_fields():
    fields = {**FIELDS, "by_script": ""}
    form = login_form(page_of(f"<form>{TYPED}"), fields)

    assert is_same_form(page_of(f"<p><form action=/2>{TYPED}<input name=x>"), form, fields)
    assert not is_same_form(page_of("<form><input type=password name=pass>"), form, fields)


@pytest.mark.slow
@pytest.mark.parametrize(
    "html",
    [
        "<form>" + TYPED + "<div>" * 200_000,
        "<form>" + TYPED + "<input name=x>" * 100_000,
        "<fieldset disabled><legend>" * 50_000 + "<form>" + TYPED,
        "<form>" + TYPED + "<select name=a>" + "<option>x" * 100_000,
    ],
    ids=["deep", "wide", "fieldsets", "options"],
)
def test_no_page_keeps_its_reader_for_long(html):
    began = time.thread_time()
    page_of(html)

    assert time.thread_time() - began < MOST_SECONDS
