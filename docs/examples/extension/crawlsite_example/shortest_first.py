"""The order of visits that prefers short addresses."""

LABEL = "Shortest address first: front pages and sections before single articles"


def rank(url: str, _depth: int) -> float:
    """Of a host's URLs, that of the least rank is next."""
    return float(len(url))
