"""What the API's schemas are made of: ninja's, without its detour by attributes where there are
keys.
"""

from __future__ import annotations

from typing import Any, Self

import ninja
from ninja.schema import DjangoGetter
from pydantic import ModelWrapValidatorHandler, ValidationInfo, model_validator


class Schema(ninja.Schema):
    """A ninja.Schema that takes an instance of its own, and a dictionary, as pydantic does.

    Ninja reads both by attributes, each in Python, and so an instance again at every level around
    it: of an answer with a thousand rows that was most of the time.
    """

    @model_validator(mode="wrap")
    @classmethod
    def _run_root_validator(
        cls, values: Any, handler: ModelWrapValidatorHandler[Self], info: ValidationInfo
    ) -> Self:
        is_plain = type(values) is dict or isinstance(values, cls)
        if is_plain and not cls._ninja_resolvers:
            return handler(values)
        return handler(DjangoGetter(values, cls, info.context))
