"""The codes of languages, and their names in English."""

from __future__ import annotations

#: ISO 639-3 -> ISO 639-1 and the name; languages without a line keep their three-letter code
LANGUAGES = {
    "arb": ("ar", "Arabic"),
    "ces": ("cs", "Czech"),
    "cmn": ("zh", "Chinese"),
    "dan": ("da", "Danish"),
    "deu": ("de", "German"),
    "ell": ("el", "Greek"),
    "eng": ("en", "English"),
    "fin": ("fi", "Finnish"),
    "fra": ("fr", "French"),
    "heb": ("he", "Hebrew"),
    "hin": ("hi", "Hindi"),
    "hun": ("hu", "Hungarian"),
    "ita": ("it", "Italian"),
    "jpn": ("ja", "Japanese"),
    "kor": ("ko", "Korean"),
    "nld": ("nl", "Dutch"),
    "nno": ("no", "Norwegian"),
    "nob": ("no", "Norwegian"),
    "pol": ("pl", "Polish"),
    "por": ("pt", "Portuguese"),
    "ron": ("ro", "Romanian"),
    "rus": ("ru", "Russian"),
    "spa": ("es", "Spanish"),
    "swe": ("sv", "Swedish"),
    "tam": ("ta", "Tamil"),
    "tha": ("th", "Thai"),
    "tur": ("tr", "Turkish"),
    "ukr": ("uk", "Ukrainian"),
    "vie": ("vi", "Vietnamese"),
}
NAMES = dict(LANGUAGES.values())
