"""Whether a text is a tag of a language (BCP 47) whose parts the IANA registry has."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from functools import cache

#: RFC 5646, section 4.4.1
LONGEST = 35
#: The parts behind the language, in their order (section 2.1); there may be several variants.
PARTS = ("extlang", "script", "region", "variant")


def is_language(tag: str) -> bool:
    """In any case of its letters. A tag that begins with `x-`, or is registered as a whole, counts;
    the part behind a single letter (an extension, or private use) is not looked at.
    """
    if not tag.isascii() or len(tag) > LONGEST:
        return False
    known, subtags = _registry(), tag.lower().split("-")
    if tag.lower() in known["grandfathered"] or (subtags[0] == "x" and len(subtags) > 1):
        return True
    if subtags[0] not in known["language"]:
        return False
    kinds = list(PARTS)
    for subtag in subtags[1:]:
        if len(subtag) == 1 and subtag.isalnum():
            return True
        while kinds and subtag not in known[kinds[0]]:
            del kinds[0]
        if not kinds:
            return False
        if kinds[0] != "variant":
            del kinds[0]
    return True


@cache
def _registry() -> Mapping[str, frozenset[str]]:
    """Subtags by their type, once in a process: that takes a tenth of a second, and so does the
    import, which not each command is to wait for.
    """
    from langcodes.registry_parser import parse_registry

    known = defaultdict[str, set[str]](set)
    for record in parse_registry():  # type: ignore[no-untyped-call]
        name = str(record.get("Subtag") or record.get("Tag") or "").lower()
        known[str(record["Type"])].add(name)
    return defaultdict(frozenset, {kind: frozenset(names) for kind, names in known.items()})
