"""One process of the Procfile in place of this program, for service managers and containers, which
watch and restart each process themselves. They need no second list of the commands.
"""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path
from typing import NoReturn

from crawlsite import env
from crawlsite.env import BASE_DIR, Environment
from crawlsite.services.stops import StartError
from crawlsite.supervisor.process import prepare
from crawlsite.supervisor.procfile import commands_of, variables


def become(name: str, environment: Environment, procfile: Path) -> NoReturn:
    """Run the last command of the line `name` in place of this program, after all others of it.

    Raises StartError for an unknown name, a command that fails, or one that is not installed.
    """
    values = variables(environment, platform=sys.platform)
    *before, last = commands_of(name, procfile, values)
    child_env = env.child_environment({**values, "STATE_DIR": str(environment.state_dir)})
    for command in before:
        prepare(command, env=child_env, pause=time.sleep)
    os.chdir(BASE_DIR)
    try:
        os.execvpe(last[0], last, child_env)  # noqa: S606 - from the Procfile
    except OSError as error:
        raise StartError(f"{last[0]}: {error.strerror}; see the line {name!r} of it") from error
