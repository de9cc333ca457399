"""Real bytes of many languages become the characters that were meant."""

import codecs

import pytest

from crawling.web.document_stream import DocumentStream
from crawling.web.documents.base import DocumentSource
from crawling.web.documents.charsets import decode
from crawling.web.documents.registry import read_document

TEXTS = {
    "gb2312": "这是一个用于测试的网页,内容是关于网络爬虫的说明和介绍,我们在这里写一些常用的汉字。",
    "gbk": "這是壹個網頁,内容是关于计算机科学与技术的说明,朱镕基总理出席了会议。",
    "gb18030": "这是一个用于测试的网页,内容是关于网络爬虫的说明和介绍,我们写一些常用的汉字。",
    "big5": "這是一個用於測試的網頁,內容是關於網路爬蟲的說明和介紹,我們在這裡寫一些常用的漢字。",
    "shift_jis": "これはテストのためのページです。ウェブクローラーについての説明が書かれています。",
    "euc-jp": "これはテストのためのページです。ウェブクローラーについての説明が書かれています。",
    "euc-kr": "이것은 시험을 위한 웹 페이지입니다. 웹 크롤러에 대한 설명이 쓰여 있습니다.",
    "windows-1250": "Příliš žluťoučký kůň úpěl ďábelské ódy, a proto jsme šli domů přes louku.",
    "windows-1251": "Это проверочная страница о поисковых роботах, написанная обычными русскими "
    "словами.",
    "windows-1252": "Les élèves français étudient à l’école; où êtes-vous, garçon? Voilà un "
    "café très cher, déjà payé.",
    "windows-1253": "Αυτή είναι μια δοκιμαστική σελίδα για τους ανιχνευτές του παγκόσμιου ιστού.",
    "windows-1255": "זהו דף בדיקה על סורקי רשת, כתוב במילים עבריות רגילות לחלוטין.",
    "koi8-r": "Это проверочная страница о поисковых роботах, написанная обычными русскими словами.",
    "utf-8": "日本語 中文 Ελληνικά русский é",
}
HTML = "<html><head>{meta}<title>{text}</title></head><body><p>{text}</p></body></html>"
#: a guess has only the bytes; these two share most characters with others, or need more of them
GUESSED = sorted(TEXTS.keys() - {"gb18030"})


def title(body, charset=None):
    return read_document(
        DocumentSource(DocumentStream.of(body), "http://a.test/", "text/html", charset)
    ).title


@pytest.mark.parametrize("charset", sorted(TEXTS))
def test_the_character_set_that_the_server_names_is_used(charset):
    text = TEXTS[charset]

    assert title(HTML.format(meta="", text=text).encode(charset), charset) == text
    assert decode(text.encode(charset), charset)[0] == text


@pytest.mark.parametrize("charset", sorted(TEXTS))
@pytest.mark.parametrize(
    "meta",
    ['<meta charset="{}">', '<meta http-equiv=content-type content="text/html; charset={}">'],
)
def test_otherwise_the_one_that_the_document_names(charset, meta):
    text = TEXTS[charset]

    assert title(HTML.format(meta=meta.format(charset), text=text).encode(charset)) == text


@pytest.mark.parametrize("charset", GUESSED)
def test_otherwise_a_good_guess(charset):
    text = TEXTS[charset]

    assert title(HTML.format(meta="", text=text).encode(charset)) == text
    assert decode(text.encode(charset), None)[0] == text


@pytest.mark.parametrize(
    ("mark", "codec"),
    [
        (codecs.BOM_UTF8, "utf-8"),
        (codecs.BOM_UTF16_LE, "utf-16-le"),
        (codecs.BOM_UTF16_BE, "utf-16-be"),
    ],
)
def test_a_byte_order_mark_is_stronger_than_anything_said(mark, codec):
    body = mark + HTML.format(meta="<meta charset=big5>", text="日本語").encode(codec)

    assert title(body, "gb2312") == "日本語"
    assert decode(mark + "日本語".encode(codec), "gb2312")[0] == "日本語"


@pytest.mark.parametrize(
    ("label", "meant", "text"),
    [
        ("gb2312", "gbk", "朱镕基"),
        ("gbk", "gb18030", "𠮷野"),
        ("iso-8859-1", "cp1252", "“5 €”"),
        ("us-ascii", "cp1252", "“5 €”"),
        ("shift_jis", "cp932", "①髙"),
        ("iso-8859-9", "cp1254", "“ğ €”"),
    ],
)
@pytest.mark.parametrize("type_", ["text/plain", "text/html"])
def test_a_label_means_what_the_web_means_by_it(label, meant, text, type_):
    """Authors who write it have more characters than its own standard knows."""
    body = text.encode(meant)

    assert decode(body, label)[0] == text
    assert (
        read_document(
            DocumentSource(DocumentStream.of(body), "http://a.test/", type_, label)
        ).text.strip()
        == text
    )


@pytest.mark.parametrize(
    "label",
    ["no-such-charset", "base64", "rot13", "utf\0-8", "", "hex", "idna", "unicode_escape", "zip"],
)
def test_a_label_that_is_no_character_set_is_passed_over(label):
    assert decode("日本語".encode(), label) == ("日本語", "utf-8")


@pytest.mark.parametrize(
    "body",
    ['<?xml version="1.0" encoding="windows-1251"?><a>{}</a>', '@charset "windows-1251"; /* {} */'],
)
def test_xml_and_style_sheets_name_theirs_in_their_first_line(body):
    text = TEXTS["windows-1251"]

    assert text in decode(body.format(text).encode("windows-1251"), None)[0]


XHTML = '<html xmlns="http://www.w3.org/1999/xhtml"><head>{}<title>{}</title></head></html>'
META = '<meta charset="{}"/>'
DECLARED = "<?xml version='1.0' encoding = '{}' standalone='yes'?>"


@pytest.mark.parametrize("kind", ["application/xhtml+xml", "application/xml", "image/svg+xml"])
@pytest.mark.parametrize(
    ("before", "meta", "written_in", "read_as"),
    [
        ("", "", "ascii", "utf-8"),
        ("", "", "utf-8", "utf-8"),
        ("", META.format("windows-1251"), "utf-8", "utf-8"),
        ("", META.format("windows-1251"), "windows-1251", "windows-1251"),
        (DECLARED.format("koi8-r"), "", "koi8-r", "koi8-r"),
        (DECLARED.format("koi8-r"), "", "ascii", "koi8-r"),
        (DECLARED.format("koi8-r"), META.format("utf-8"), "koi8-r", "koi8-r"),
        (DECLARED.format("UTF-16"), "", "utf-8", "utf-8"),
        (DECLARED.format("UTF-16"), "", "utf-16-be", "utf-16be"),
        (DECLARED.format("x-unknown"), "", "utf-8", "utf-8"),
        (f"\ufeff{DECLARED.format('koi8-r')}", "", "utf-8", "utf-8"),
    ],
)
def test_xhtml_without_a_charset_is_what_its_declaration_says_or_utf_8(
    kind, before, meta, written_in, read_as
):
    page = f"{before}{XHTML.format(meta, 'Привет')}"
    body = DocumentStream.of(page.encode(written_in, "xmlcharrefreplace"))

    found = read_document(DocumentSource(body, "http://a.test/", kind))

    assert (found.charset, found.title) == (read_as, "Привет")


def test_the_charset_that_the_server_names_is_stronger_than_a_declaration():
    body = f"{DECLARED.format('utf-8')}{XHTML.format('', 'Привет')}".encode("koi8-r")
    source = DocumentSource(
        DocumentStream.of(body), "http://a.test/", "application/xhtml+xml", "koi8-r"
    )

    assert read_document(source).title == "Привет"


def test_html_may_state_its_charset_as_xml_does():
    """HTML Standard, section 13.2.3.2, *get an XML encoding*: where no `meta` says another."""
    stated = f"{DECLARED.format('koi8-r')}{XHTML.format('{}', 'x')}"
    pages = [stated.format(""), stated.format(META.format("utf-8"))]

    sources = [
        DocumentSource(DocumentStream.of(page.encode()), "http://a.test/", "text/html")
        for page in pages
    ]

    assert [read_document(source).charset for source in sources] == ["koi8-r", "utf-8"]
