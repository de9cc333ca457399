"""The origins of the replay: the site, whose page has the player in a frame, and below it one for
each run, on which the player and scripts of archived pages run.

Origins of runs differ from that of the frame's page, or a script could free itself of the frame
(HTML, `sandbox`). All are of one site, or browsers would withhold the cookies in the frame.
"""

from __future__ import annotations

import re
from urllib.parse import urlsplit, urlunsplit

from django.conf import settings

#: Browsers resolve names below `localhost` to this machine themselves (RFC 6761, 6.3). Cookies and
#: storage of `localhost`, which may be the dashboard's, are not those of this name.
LOCAL_SITE = "replay.localhost"
OF_RUN = re.compile(r"run-([1-9][0-9]{0,18})\.")


def site() -> str:
    """The origin of the page that has the frame."""
    return settings.REPLAY_URL or f"http://{LOCAL_SITE}:{settings.REPLAY_PORT}"


def origin_of(run_id: int) -> str:
    parts = urlsplit(site())
    return urlunsplit(parts._replace(netloc=f"run-{run_id}.{parts.netloc}"))


def run_asked(host: str) -> int | None:
    """The run whose origin the `Host` of a request names; 0: it names the site; None: neither.

    The port is not compared: a proxy may have another.
    """
    name, known = _name(host), _name(urlsplit(site()).netloc)
    if name == known:
        return 0
    found = OF_RUN.match(name)
    return int(found[1]) if found and name[found.end() :] == known else None


def _name(host: str) -> str:
    return host.rpartition(":")[0].lower() if ":" in host else host.lower()
