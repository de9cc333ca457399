"""`/api/v1/health`: servers, queues, workers, disk, clock and versions."""

# No postponed annotations here: django-ninja reads annotations, and could not resolve names behind
# Django's decorator.

from datetime import datetime

from ninja import Router
from pydantic import Field

from crawling.dashboard.base.api_parameters import may_view
from crawlsite.health.report import SystemReport, system_report
from serving.access import AuthenticatedRequest
from serving.schemas import Schema

health = Router()


class ComponentOut(Schema):
    name: str
    is_fine: bool
    sentence: str


class ServerOut(Schema):
    name: str
    version: str
    is_embedded: bool
    place: str = Field(description="data directory, if it is embedded")
    began: datetime
    bytes: int
    connections: int
    most_connections: int | None
    clock_ahead: float = Field(
        description="seconds that its clock is ahead of the web server's; 0 if within the error "
        "of measurement"
    )


class QueueOut(Schema):
    name: str
    length: int
    oldest: datetime | None = Field(description="when its first job was queued")
    failed: int


class TaskOut(Schema):
    what: str
    crawl: int | None
    since: datetime | None


class WorkerOut(Schema):
    name: str
    queues: list[str]
    host: str
    pid: int | None
    state: str
    task: TaskOut | None
    beat: datetime | None = Field(description="time of its last heartbeat")
    began: datetime | None
    done: int
    failed: int
    memory: int | None = Field(
        description="bytes; null if it runs on another machine than the web server"
    )
    browser_pages: int = Field(description="pages that its browser may have open")
    browser_mebibytes: int = Field(description="memory of these pages, in MiB")
    why_no_browser: str = Field(
        description="why it has no browser, or why its browser did not start; empty for workers "
        "that never render"
    )


class FailedRenderingsOut(Schema):
    status: int = Field(description="a fetch status of renderings, which is negative")
    sentence: str
    pages: int


class BrowsersOut(Schema):
    pages: int = Field(description="pages that may be open in the browsers of all workers")
    open_pages: int = Field(description="those that are granted to crawls")
    mebibytes: int = Field(description="memory of all these pages, in MiB")
    granted_mebibytes: int
    rendered: int = Field(description="pages rendered by runs of the last day")
    ended: list[FailedRenderingsOut] = Field(
        description="pages of these runs that were not rendered to the end, by reason"
    )


class ExtensionOut(Schema):
    group: str = Field(description="the group of the entry point: what is added")
    name: str
    package: str
    version: str
    fault: str = Field(description="why it is not available; empty if it is")


class HealthOut(Schema):
    at: datetime
    parts: list[ComponentOut]
    servers: list[ServerOut]
    queues: list[QueueOut]
    workers: list[WorkerOut]
    browsers: BrowsersOut
    versions: dict[str, str]
    extensions: list[ExtensionOut] = Field(
        description="protocols, content types and orders of visits that installed packages add"
    )
    trouble: str = Field(description="why queues and workers are not listed; empty if they are")


@health.get(
    "",
    response=HealthOut,
    summary="Get the state of servers, queues, workers, disk and clocks, and versions",
)
@may_view
def get_health(request: AuthenticatedRequest) -> SystemReport:
    return system_report()
