"""The pattern of a URL, the signs of patterns of endless sites, and the directories above a URL
(SEEDS W4).

The signs alone decide nothing: of a suspicious pattern, fewer pages are fetched before their yield
is judged (`crawling.frontier.admit.pattern_worth`).

Pure: the caller gives the year.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from re import escape
from typing import NamedTuple

from xxhash import xxh3_64_intdigest

from crawling.web.addresses import Address, signed_64_bits


def directories_above(address: Address) -> list[Address]:
    """The directories of a URL, nearest first: for `/a/b/page.html` they are `/a/b/`, `/a/` and
    `/`.
    """
    target = address.target
    origin = address.document_url.removesuffix(target)
    path = target.partition("?")[0]
    above = []
    if path != target:
        path += "?"  # a directory with a query lies in the directory itself
    while path := path[: path.rfind("/", 0, -1) + 1]:
        above.append(address._replace(url=origin + path))
    return above


#: the most directories below each other; deeper ones are often made by programs
MOST_SEGMENTS = 20
#: the number of times that one directory in a path, or one parameter in a query, may occur without
#: being suspicious
MOST_REPEATS = 4
#: the number of different parameters from which on they often filter a list
MOST_PARAMETERS = 4
#: the least number of parameters that filter, sort or page a list together
LEAST_COMBINED = 2
#: the most combinations of such parameters that are considered
MOST_COMBINED = 20
#: the most characters of its path that a pattern shows
MOST_OF_A_PATH = 200
#: stands for further parameters
OTHERS = "?…&"
#: the longest path with its query; longer ones are often made by programs that add to them
LONGEST_URL = 1024
#: the number of years ahead that the calendar pages of most sites reach
YEARS_AHEAD = 2
FIRST_YEAR = 1990
#: the number of a pattern's pages that are fetched before the pattern is judged by its yield
PROBE_PAGES = 50
#: the same for a pattern that looks endless
SUSPICIOUS_PROBE_PAGES = 12
#: the share of pages with anything new below which a pattern is suspicious
LEAST_YIELD = 0.1
#: the number of latest URLs, at least half of which must lead to more of the pattern, since a
#: pattern that ends is no trap
LATEST = 20
#: the number of addresses that may differ only by a likely session id without being suspicious
MOST_SESSIONS = 2

#: a directory's name is an id if it has this many letters and digits, with this many numbers among
#: them,
SHORTEST_IDENTIFIER, TURNS_OF_IDENTIFIER = 10, 3
#: or this many letters and digits, with a number among them
LONG_IDENTIFIER = 16

DIGITS = re.compile(r"[0-9]+")
#: a word of hexadecimal digits, after decimal digits are folded
HEXADECIMAL = re.compile(r"(?<![A-Za-z#])[a-fA-F#]++(?![A-Za-z])")
PARAMETERS = re.compile(r"[&;]")
NUMBERED = re.compile(r"(?:/#){3,}")
CALENDAR = re.compile(
    r"(?<![a-z])(?:calendar|kalender|months?|dates?|days?|events?|years?|weeks?|agenda|archives?)"
    r"(?![a-z])",
    re.IGNORECASE,
)
YEAR = re.compile(r"(?<![0-9])([12][0-9]{3})(?![0-9])")
SESSION = re.compile(
    r"(?:[;?&](?:jsessionid|phpsessid|aspsessionid[a-z]*|sessionid|session_id|sess|sid|cfid|"
    r"cftoken|zenid|oscsid)=[0-9a-z_.%-]{8,})"
    r"|/\(s\([0-9a-z]{20,}\)\)"
    r"|/(?:jsessionid|phpsessid|sessionid|session_id|session|sess|sid)[/=~_-][0-9a-z]{16,}+"
    r"(?=[/?]|$)",
    re.IGNORECASE,
)
#: the text up to the id itself
SESSION_NAME = re.compile(r"[;?&/(]++[a-z_]++")

#: the rules of patterns that are wider than the form of one URL
ONE_TEXT, FILTER = "one text", "filter"
WIDE_REASONS = {
    ONE_TEXT: f"{PROBE_PAGES} of the site's latest pages say nearly word for word what others of "
    "it say, and they lead to ever more. A site may answer every URL alike (a soft 404), ask for "
    "a log-in on each page, or have its content made by scripts",
    FILTER: f"{PROBE_PAGES} of the latest lists with this parameter have nothing that others "
    "have not, neither an item nor a word, and they lead to ever more",
}
REASONS = {
    "repeats": f"the same directory stands {MOST_REPEATS} times in the path, or the same parameter "
    "in the query",
    "parameters": f"the query has {MOST_PARAMETERS} or more parameters",
    "deep": f"more than {MOST_SEGMENTS} directories stand below each other",
    "long": f"the address is longer than {LONGEST_URL:,} characters",
    "calendar": f"it is a calendar's page before {FIRST_YEAR} or more than {YEARS_AHEAD} years "
    "ahead",
    "session": "only what looks like the id of a session makes it another address than known ones",
    "yield": f"of {PROBE_PAGES} or more pages",
    **WIDE_REASONS,
}
#: the reason for all other patterns that are held
POOR = (
    f"fewer than {LEAST_YIELD:.0%} of its fetched pages held anything new, and they lead to ever "
    "more"
)


class Pattern(NamedTuple):
    """Addresses of one host that differ by numbers, ids and values only."""

    key: int
    text: str
    #: the reason why the addresses look suspicious; "" if they do not
    rule: str = ""


def site_pattern(address: Address) -> Pattern:
    """The pattern of all URLs of an origin."""
    return _make_pattern(address, "/…", ONE_TEXT)


def directory_pattern(address: Address) -> Pattern:
    """The pattern of all URLs in the directory of a URL, and below it."""
    path = _folded_path(address.target.partition("?")[0])
    return _make_pattern(address, path[: path.rfind("/") + 1] + "…")


def list_address(address: Address) -> str:
    """The common part of the URLs of a list that is filtered, sorted or paged, whatever their
    parameters. "" if the URL has fewer than LEAST_COMBINED parameters.
    """
    path, _, query = address.target.partition("?")
    return (
        address.origin + _folded_path(path)
        if len(_parameter_names(query)) >= LEAST_COMBINED
        else ""
    )


def patterns_by_parameter(address: Address) -> list[Pattern]:
    """For each parameter of such a URL, the pattern of those URLs of the list that have this
    parameter and others, in any order. If there are very many, only for the first MOST_COMBINED.
    """
    path, _, query = address.target.partition("?")
    names = sorted(_parameter_names(query))[:MOST_COMBINED]
    if len(names) < LEAST_COMBINED:
        return []
    path = _folded_path(path)
    path = path if len(path) <= MOST_OF_A_PATH else path[:MOST_OF_A_PATH] + "…"
    return [_make_pattern(address, f"{path}{OTHERS}{name}=#", FILTER) for name in names]


def query_values(address: Address) -> list[str]:
    return [part for part in PARAMETERS.split(address.target.partition("?")[2]) if part]


def expression_for(pattern: Pattern) -> str:
    """The regular expression, in PostgreSQL's syntax, for the URLs of a pattern of an origin or a
    parameter.
    """
    before, is_filter, name = pattern.text.partition(OTHERS)
    path = escape(before).replace(r"\#", "[0-9A-Fa-f]+").replace("…", ".*")
    name = escape(name.removesuffix("=#")).replace(r"\#", "[0-9]+")
    return rf"^{path}\?(?=.*=.*[&;].*=)(.*[&;])?{name}=" if is_filter else f"^{path}"


def pattern_of(address: Address) -> Pattern | None:
    """The pattern that a URL shares with others. None if it has no part that a program could count
    up.
    """
    target = address.target
    return (
        _make_pattern(address, _folded_target(target))
        if "=" in target or DIGITS.search(target)
        else None
    )


def pattern_by_key(address: Address, key: int | None, *, year: int) -> Pattern | None:
    """The URL's pattern with this key, under which the URL was admitted; None if there is none.

    The key is None for a seed, or for the end of a redirect, which are admitted without a pattern.
    """
    if key is None:
        return suspicious_pattern(address, year=year) or pattern_of(address)
    for one in _possible_patterns(address, year):
        if one and one.key == key:
            return one
    return None


def _possible_patterns(address: Address, year: int) -> Iterator[Pattern | None]:
    """The patterns under which a URL may have been admitted, the commonest first."""
    yield pattern_of(address)
    yield suspicious_pattern(address, year=year)
    bare = address_without_session_id(address)
    yield bare[1] if bare else None


def hold_reason(rule: str) -> str:
    """The reason why URLs of a pattern are held, by its rule."""
    if rule in WIDE_REASONS:
        return REASONS[rule]
    return f"{REASONS[rule]}, and {POOR}" if rule != "yield" else f"{POOR}: {REASONS[rule]}"


def suspicious_pattern(address: Address, *, year: int) -> Pattern | None:
    """The suspicious pattern of a URL, by its appearance alone. Session ids are not considered."""
    target = address.target
    segments = target.partition("?")[0].split("/")
    if len(segments) - len(set(segments)) >= MOST_REPEATS - 1:
        often = next(
            (
                segment
                for segment, n in Counter(segments).items()
                if n >= MOST_REPEATS and not segment.isdigit()
            ),
            None,
        )
        if often is not None:
            return _make_pattern(address, f"/…/{often}/…/{often}/…", "repeats")
    if len(segments) > MOST_SEGMENTS:
        return _make_pattern(address, "/".join(segments[:3]) + "/…", "deep")
    if len(target) > LONGEST_URL:
        return _make_pattern(address, target[:40] + "…", "long")
    if target.count("=") >= min(MOST_REPEATS, MOST_PARAMETERS):
        return _suspicious_query(address)
    if _is_far_off_year(target, year) and CALENDAR.search(target):
        return _make_pattern(address, _folded_target(target), "calendar")
    return None


def address_without_session_id(address: Address) -> tuple[str, Pattern] | None:
    """The URL without the part that looks like a session id, and the pattern of those URLs of the
    origin that differ from known ones only by such an id. None if the URL has no such id.
    """
    target = address.target
    match = SESSION.search(target)
    if not match:
        return None
    name = SESSION_NAME.match(match[0].lower())
    text = f"/… with {name[0].strip(';?&/(') if name else 'an id'}"
    return address.origin + SESSION.sub("", target), _make_pattern(address, text, "session")


def _suspicious_query(address: Address) -> Pattern | None:
    query = address.target.partition("?")[2]
    names = Counter(part.partition("=")[0] for part in PARAMETERS.split(query) if "=" in part)
    if max(names.values(), default=0) >= MOST_REPEATS:
        return _make_pattern(address, _folded_target(address.target), "repeats")
    if len(names) >= MOST_PARAMETERS:
        return _make_pattern(address, _folded_target(address.target), "parameters")
    return None


def _is_far_off_year(target: str, year: int) -> bool:
    return any(
        not FIRST_YEAR <= int(stated) <= year + YEARS_AHEAD for stated in YEAR.findall(target)
    )


def _folded_target(target: str) -> str:
    """The path and query in which numbers, hexadecimal words and values are replaced by `#`,
    everything below a directory that is an id by `…`, and a query by the names of its parameters.
    """
    path, mark, query = target.partition("?")
    return _folded_path(path) + mark + _folded_query(query)


def _folded_path(path: str) -> str:
    segments = path.split("/")
    found = next((n for n, segment in enumerate(segments) if _is_identifier(segment)), None)
    if found is not None:
        path = "/".join([*segments[:found], "#…"])
    path = HEXADECIMAL.sub(lambda word: "#" if "#" in word[0] else word[0], DIGITS.sub("#", path))
    return NUMBERED.sub("/#/#/…", path)


def _parameter_names(query: str) -> set[str]:
    """The names of parameters with a value, each once. Names that differ only by a number count as
    one.
    """
    parts = PARAMETERS.split(query)
    return {DIGITS.sub("#", part.partition("=")[0]) for part in parts if "=" in part}


def _folded_query(query: str) -> str:
    """The query with each parameter once, independent of the order."""
    names = set()
    for part in PARAMETERS.split(query):
        name, equals, _ = part.partition("=")
        names.add(f"{name}=#" if equals else name)
    return "&".join(sorted(names))


def _is_identifier(segment: str) -> bool:
    """Whether a program generated the segment, because letters and digits alternate, or there are
    many of both.

    Such ids belong to sessions or to documents; the worth of their pages shows which.
    """
    stem = segment.partition(".")[0]
    if len(stem) < SHORTEST_IDENTIFIER or not stem.isalnum() or stem.isdigit():
        return False
    runs = len(DIGITS.findall(stem))
    return runs >= TURNS_OF_IDENTIFIER or (runs > 0 and len(stem) >= LONG_IDENTIFIER)


def _make_pattern(address: Address, folded: str, rule: str = "") -> Pattern:
    text = f"{address.origin}{folded[:300]}"
    return Pattern(signed_64_bits(xxh3_64_intdigest(f"{rule} {text}".encode())), text, rule)
