"""The order of visits that prefers short addresses."""

LABEL = "Shortest address first: front pages and sections before single articles"


def rank(url: str, _depth: int) -> float:
    """The rank of a URL; of a host's URLs, the one with the lowest rank is next."""
    return float(len(url))
