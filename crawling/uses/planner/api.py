"""`/api/v1/capacity-plan`: the resources that a crawl of a given size needs."""

# No postponed annotations here: django-ninja reads annotations, and could not resolve names behind
# Django's decorator.

from dataclasses import asdict
from typing import Annotated, Any

from ninja import Query, Router
from pydantic import Field

from crawling.dashboard.base.api_parameters import may_view
from crawling.uses.planner.installation_rates import measured_rates
from crawling.uses.planner.plan import ERRATUM, plan_capacity
from crawling.uses.planner.planned_crawl import PlannedCrawl
from serving.access import AuthenticatedRequest
from serving.schemas import Schema

planning = Router()


class PlannedNeedOut(Schema):
    key: str = Field(description="a fixed name, such as `pages_per_second`")
    label: str
    value: float
    unit: str = Field(description="empty for a count or a price")
    formula: str


class CapacityPlanOut(Schema):
    input: PlannedCrawl
    needs: list[PlannedNeedOut]
    obstacle: str = Field(description="why the plan is impossible; empty if it is possible")
    erratum: str = Field(description="where the source document of the default case is wrong")
    measured: dict[str, float] = Field(
        description="measured rates and sizes of this installation, by input field"
    )


@planning.get(
    "",
    response=CapacityPlanOut,
    summary="Calculate workers, machines, storage, DNS, memory and cost of a planned crawl",
)
@may_view
def get_capacity_plan(
    request: AuthenticatedRequest, planned: Annotated[PlannedCrawl, Query()]
) -> dict[str, Any]:
    """The defaults are the case of the source document: 15 billion pages in 28 days."""
    return {
        **asdict(plan_capacity(planned)),
        "input": planned,
        "erratum": ERRATUM,
        "measured": measured_rates().as_input(),
    }


ROUTERS = (("/capacity-plan", planning, "resources"),)
