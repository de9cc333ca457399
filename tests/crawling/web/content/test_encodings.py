"""Labels, decoders and encoders by the Encoding Standard."""

import pytest

from crawling.web.content.encodings import (
    MULTI_BYTE,
    decoder_of,
    encode_with_references,
    encoding_name,
    percent_encoded_query,
)
from crawling.web.document_stream import DocumentStream
from crawling.web.documents.charsets import decode, decoded_pieces

#: section 4.2: how many labels each encoding has
LABELS = {
    "UTF-8": ["utf-8", "utf8", "unicode-1-1-utf-8", "x-unicode20utf8"],
    "IBM866": ["866", "cp866", "csibm866"],
    "ISO-8859-2": ["csisolatin2", "iso_8859-2:1987", "l2"],
    "ISO-8859-8-I": ["csiso88598i", "logical"],
    "ISO-8859-16": ["iso-8859-16"],
    "KOI8-R": ["cskoi8r", "koi", "koi8", "koi8_r"],
    "KOI8-U": ["koi8-ru", "koi8-u"],
    "macintosh": ["csmacintosh", "mac", "x-mac-roman"],
    "windows-874": ["dos-874", "iso-8859-11", "tis-620"],
    "windows-1252": ["ascii", "latin1", "us-ascii", "l1", "x-cp1252", "iso88591"],
    "windows-1254": ["iso-8859-9", "latin5"],
    "x-mac-cyrillic": ["x-mac-ukrainian"],
    "GBK": ["gb2312", "chinese", "x-gbk", "iso-ir-58", "gb_2312-80"],
    "gb18030": ["gb18030"],
    "Big5": ["big5-hkscs", "cn-big5", "x-x-big5"],
    "EUC-JP": ["x-euc-jp", "cseucpkdfmtjapanese"],
    "ISO-2022-JP": ["csiso2022jp"],
    "Shift_JIS": ["sjis", "ms_kanji", "windows-31j", "x-sjis", "ms932"],
    "EUC-KR": ["windows-949", "ks_c_5601-1987", "korean", "ksc5601"],
    "replacement": ["hz-gb-2312", "iso-2022-kr", "iso-2022-cn-ext"],
    "UTF-16LE": ["utf-16", "ucs-2", "unicode", "csunicode"],
    "UTF-16BE": ["utf-16be", "unicodefffe"],
    "x-user-defined": ["x-user-defined"],
    "": ["utf-7", "utf-32", "base64", "cp437", "", "none", "utf\0-8"],
}
#: an encoding, bytes, and what the standard makes of them, where Python's tables have it otherwise
DECODED = [
    ("windows-1252", b"\x81\x8d\x80", "\x81\x8d\u20ac"),
    ("gbk", b"\x80\xa2\xe3", "\u20ac\u20ac"),
    ("gb2312", b"\x81\x30\x84\x36", "\xa5"),
    ("shift_jis", b"\xfb\xfc\x87\x40\xf0\x40", "\u9ad9\u2460\ue000"),
    ("euc-kr", b"\x94\xee", "\ubdc1"),
    ("big5", b"\xf9\xd6\x88\x62\xa1\x45", "\u7881\xca\u0304\u2027"),
    ("windows-874", b"\x81\xa1", "\x81\u0e01"),
    ("x-user-defined", b"\x80a\xff", "\uf780a\uf7ff"),
    ("koi8-u", b"\xae\xbe", "\u045e\u040e"),
    ("windows-1255", b"\xca", "\u05ba"),
    ("euc-jp", b"\x8f\xa2\xb7", "\uff5e"),
    ("iso-2022-jp", b"\x1b$B%F\x1b(J\\", "\u30c6\xa5"),
    ("iso-2022-kr", b"anything", "\ufffd"),
    ("utf-16", b"\xef\xbb\xbf\xc3\xa9", "\xe9"),
]
#: an encoding, a text, and its bytes
ENCODED = [
    ("Shift_JIS", "\u9ad9\u2252\uffe2", b"\xfb\xfc\x81\xe0\x81\xca"),
    ("Shift_JIS", "\uff71\xa5\u203e\u2212\x80", b"\xb1\\~\x81\x7c\x80"),
    ("Shift_JIS", "\ue000", b"&#57344;"),
    ("EUC-JP", "\uff71\u2212\xa5\u4e02", b"\x8e\xb1\xa1\xdd\\&#19970;"),
    ("ISO-2022-JP", "\u3042a\xa5\uff71", b'\x1b$B$"\x1b(Ba\x1b(J\\\x1b$B%"\x1b(B'),
    ("ISO-2022-JP", "\u3042\U0001f600", b'\x1b$B$"\x1b(B&#128512;'),
    ("EUC-KR", "\ubdc1\uac00", b"\x94\xee\xb0\xa1"),
    ("Big5", "\u7881\u2550\u5341\u5140", b"\xf9\xd6\xf9\xf9\xa4\x51\xa4\x61"),
    ("Big5", "\u43f0", b"&#17392;"),
    ("GBK", "\u20ac\u4e2d\U0001f600", b"\x80\xd6\xd0&#128512;"),
    ("gb18030", "\u20ac\U0001f600\ue5e5\ue81e", b"\xa2\xe3\x94\x39\xfc\x36&#58853;\xfe\x59"),
    ("windows-874", "\u0e01\u20ac", b"\xa1\x80"),
    ("windows-1252", "\x81\u20ac\u4e2d", b"\x81\x80&#20013;"),
    ("KOI8-U", "\u045e", b"\xae"),
    ("x-user-defined", "\uf780", b"\x80"),
    ("UTF-16LE", "\xe9", b"\xc3\xa9"),
    ("replacement", "\xe9", b"\xc3\xa9"),
]


@pytest.mark.parametrize("name", LABELS)
def test_labels_are_those_of_the_standard(name):
    labels = LABELS[name] + [f"\t{label.upper()} " for label in LABELS[name] if label]

    assert {encoding_name(label) for label in labels} == {name}


@pytest.mark.parametrize(("label", "body", "text"), DECODED)
def test_texts_are_decoded_by_the_tables_of_the_standard(label, body, text):
    assert decode(body, label)[0] == text


@pytest.mark.parametrize(("name", "text", "body"), ENCODED)
def test_texts_are_encoded_by_the_tables_of_the_standard(name, text, body):
    assert encode_with_references(text, name) == body


@pytest.mark.parametrize("name", [*MULTI_BYTE, "ISO-2022-JP", "windows-1251", "x-mac-cyrillic"])
def test_what_is_encoded_is_decoded_to_the_same(name):
    text = decoder_of(name)(bytes(range(0xA1, 0xFF)) * 2)
    text = "".join(
        character for character in text if character != "\ufffd" and character < "\ue000"
    )

    assert decoder_of(name)(encode_with_references(text, name)) == text


@pytest.mark.parametrize("label", ["shift_jis", "gb18030", "iso-2022-jp", "utf-8", "big5"])
def test_characters_at_the_border_of_two_pieces_stay_whole(label):
    text = "\u4e00\u4e8c\u4e09\n" * 40_000
    body = encode_with_references(text, encoding_name(label))

    pieces, _ = decoded_pieces(DocumentStream.of(body), len(body), label)

    assert "".join(pieces) == text


def test_queries_are_percent_encoded_after_encoding():
    """Bytes that are ASCII stay as they are, even those of a character (URL Standard, 1.3)."""
    assert percent_encoded_query("a=\u8868&b=\U0001f600&c=%20", "Shift_JIS") == (
        "a=%95\\&b=%26%23128512%3B&c=%20"
    )


@pytest.mark.parametrize(
    ("label", "query"),
    [
        ("utf-8", "%C3%BC%E8%A1%A8"),
        ("shift_jis", "%26%23252%3B%95\\"),
        ("gbk", "%A8%B9%B1%ED"),
        ("nothing", "%C3%BC%E8%A1%A8"),
    ],
)
def test_queries_are_encoded_by_every_label_of_an_encoding(label, query):
    """As rows of pages have it, in small letters."""
    assert percent_encoded_query("\xfc\u8868", label) == query
