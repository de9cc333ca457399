"""The language of a text: by its letters, or by the statement of its page if the letters are too
few.
"""

from __future__ import annotations

from itertools import islice

from turbohtml.detect import detect_language

from crawling.web.languages import LANGUAGES

#: the most characters that the detector gets; more would take longer and change little
LOOKED_AT = 4_000
#: with fewer letters, or with less confidence, the detector confuses related languages; digits and
#: signs do not count
LEAST_LETTERS = 160
LEAST_CONFIDENCE = 0.3


def language_of(text: str, stated: str) -> str:
    """The two- or three-letter code of a text's language; "" if the language is unknown.

    stated: the page's statement, such as `de-AT`. Many pages state the language of their template,
    so the letters of a long text count more.
    """
    sample = text[:LOOKED_AT]
    if _has_letters(sample):
        found = detect_language(sample)
        if found.language and found.confidence >= LEAST_CONFIDENCE:
            return LANGUAGES.get(found.language, (found.language, ""))[0]
    primary = stated.replace("_", "-").partition("-")[0].strip().lower()
    if primary in ("nb", "nn"):
        return "no"
    return primary if len(primary) in (2, 3) and primary.isascii() and primary.isalpha() else ""


def _has_letters(sample: str) -> bool:
    """Whether the sample has LEAST_LETTERS letters. Counting all letters would take as long as
    detecting the language.
    """
    letters = (True for one in sample if one.isalpha())
    return next(islice(letters, LEAST_LETTERS - 1, None), False)
