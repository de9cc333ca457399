"""How an index tells answers apart that one URL gave to several methods or bodies (Request Body
Canonicalization of Webrecorder, which pywb and wabac.js read).
"""

from __future__ import annotations

#: As URLs have them (URL Standard, 4.4): no tabs and line breaks, which would end a line of the
#: index, and other control characters and blanks percent-encoded.
PLAIN = str.maketrans(
    {code: f"%{code:02X}" for code in (*range(33), 127)} | dict.fromkeys(map(ord, "\t\n\r"))
)


def method_query(url: str, method: str, body: str) -> str:
    """The addition to the URL, or to its key; nothing for GET."""
    if not method:
        return ""
    mark = "&" if "?" in url else "?"
    return f"{mark}__wb_method={method}{f'&{body}' if body else ''}".translate(PLAIN)


def asked_facts(method: str, body: str) -> dict[str, str]:
    return {"method": method, "requestBody": body} if method else {}
