"""The product's own commands as forks of the supervisor, which imports the product once: each
process by itself would take seconds for that, and its own memory for all of it. The web server
imports every view and template before the first request.
"""

from __future__ import annotations

import gc
import shlex
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from importlib import import_module
from pathlib import Path
from threading import Thread

from django.conf import settings
from django.template.loader import get_template
from django.template.utils import get_app_template_dirs
from setproctitle import getproctitle, setproctitle

from crawlsite import env
from crawlsite.env import BadSetting
from crawlsite.services.stops import StartError
from crawlsite.supervisor.procfile import Processes

MANAGE = ["python", "manage.py"]
GUNICORN = "gunicorn"
#: the time given to an import that is under way when the product is told to stop; the import
#: usually takes two seconds
END_SECONDS = 4.0
#: the modules that the Procfile's commands import, besides the pages
MODULES = (
    "crawling.fetching.worker.rq_worker",
    "crawling.fetching.worker.background_worker",
    "crawling.dashboard.management.commands.scheduler",
    "crawling.dashboard.management.commands.resolve_ahead",
    "crawlsite.management.commands.release",
    "crawlsite.management.commands.set_up",
    "crawlsite.middleware.request_buffer",
    "crawlsite.replay.origin",
    "django_rq.management.commands.rqworker",
    "gunicorn.app.wsgiapp",
    "gunicorn.workers.gthread",
    "manage",
)


class Preload:
    """The modules that the processes of a plan import, in case one of them can be forked.

    environment: of all these processes, and so of this one, which they are forked from.
    """

    def __init__(self, environment: Mapping[str, str], plan: Processes) -> None:
        self._environment = environment
        self._thread: Thread | None = None
        self._error: Exception | None = None
        self._is_wanted = any(map(_can_fork, (*plan.release, *plan.commands.values())))

    def start(self) -> None:
        """Begin to import, while the servers start."""
        if self._is_wanted:
            self._thread = Thread(target=self._import, name="preload", daemon=True)
            self._thread.start()

    def wait(self, pause: Callable[[float], None]) -> None:
        """Wait until all is imported. Raises StartError for a setting that cannot be used, or a
        module that cannot be imported, and any exception that `pause` raises.
        """
        while self._thread and self._thread.is_alive():
            pause(0.02)
        if isinstance(self._error, BadSetting):
            raise StartError(str(self._error)) from self._error
        if self._error:
            raise StartError(
                f"the product cannot be imported ({type(self._error).__name__}: {self._error}); "
                "`python manage.py check` shows where"
            ) from self._error

    def end(self) -> None:
        """Unfreeze objects before this process ends: a package that counts leaked objects takes
        frozen ones for leaked, and prints that on the terminal. An import that is under way cannot
        be interrupted.
        """
        if self._thread:
            self._thread.join(END_SECONDS)
        gc.unfreeze()

    def work_of(self, command: Sequence[str]) -> Callable[[], None] | None:
        """The function that a fork of this process runs in place of the command; None if the
        command cannot be run by a fork.
        """
        return partial(_run, command) if _can_fork(command) else None

    def _import(self) -> None:
        # this call finds the memory for process titles, which cannot be found once the environment
        # has changed
        getproctitle()
        env.adopt({**self._environment, "DJANGO_SETTINGS_MODULE": "crawlsite.settings"})
        # nearly all that is made here stays, and looking at all of it again and again would take an
        # eighth of the time
        usual = gc.get_threshold()
        gc.set_threshold(usual[0], usual[1], 10_000)
        try:
            import_module("django").setup()
            import_module("crawlsite.supervisor.preload").import_pages()
            for module in MODULES:
                import_module(module)
        except Exception as error:
            self._error = error
        # a garbage collection would write to all objects, and memory that is written to is no
        # longer shared
        gc.collect()
        gc.freeze()
        gc.set_threshold(*usual)


def _can_fork(command: Sequence[str]) -> bool:
    """Whether a command is our own, or gunicorn, which serves our pages. This is so only on Linux:
    on macOS a forked process must not use the system's libraries.
    """
    is_ours = list(command[:2]) == MANAGE or command[0] == GUNICORN
    return is_ours and sys.platform == "linux"


def _run(command: Sequence[str]) -> None:
    """Run the command of a line of the Procfile in this process."""
    setproctitle(shlex.join(command))
    if command[0] == GUNICORN:
        sys.argv = list(command)
        import_module("gunicorn.app.wsgiapp").run()
    else:
        sys.argv = list(command[1:])
        import_module("manage").main()


def import_pages() -> None:
    """Import all views and templates once, before processes are forked, and not at the first
    requests of each process, when others would wait for a thread.
    """
    import_module(settings.ROOT_URLCONF)
    folders = [settings.BASE_DIR / "templates", *map(Path, get_app_template_dirs("templates"))]
    for folder in folders:
        own = folder.is_relative_to(settings.BASE_DIR)
        if not own or folder.is_relative_to(settings.BASE_DIR / ".venv"):
            continue  # templates of packages, of which we use few
        for template in sorted(folder.rglob("*.html")):
            get_template(str(template.relative_to(folder)))
