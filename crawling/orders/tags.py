"""Tags: words that operators give crawls, to find them by."""

from __future__ import annotations

MOST_TAGS = 20
LONGEST_TAG = 30


class BadTags(ValueError):
    """The tags cannot be kept; the sentence says which and why."""


def read_tags(text: str) -> list[str]:
    """The tags in a list with commas between them: trimmed, each once, in the order of the
    alphabet. Raises BadTags.
    """
    tags = sorted({" ".join(tag.split()) for tag in text.split(",")} - {""})
    for tag in tags:
        if len(tag) > LONGEST_TAG:
            raise BadTags(
                f"The tag {tag[:LONGEST_TAG]!r}… is longer than {LONGEST_TAG} characters; "
                "choose a shorter one."
            )
        if not tag.isprintable():
            raise BadTags(f"The tag {tag!r} has signs that cannot be shown; leave them out.")
    if len(tags) > MOST_TAGS:
        raise BadTags(
            f"A crawl has at most {MOST_TAGS} tags, and these are {len(tags)}; leave some out."
        )
    return tags
