"""The base class of the API's schemas: ninja's, but without its slow reading by attributes where
there are keys.
"""

from __future__ import annotations

from dataclasses import is_dataclass
from typing import Any, Self

import ninja
from pydantic import ModelWrapValidatorHandler, ValidationInfo, model_validator


class Schema(ninja.Schema):
    """A ninja.Schema that reads an instance of its own, a dictionary and a data class as pydantic
    does.

    Ninja reads all of them by attributes, each in Python, and so reads an instance again at every
    level around it: for an answer with a thousand rows that was most of the time.
    """

    @model_validator(mode="wrap")
    @classmethod
    def _run_root_validator(
        cls, values: Any, handler: ModelWrapValidatorHandler[Self], info: ValidationInfo
    ) -> Self:
        is_plain = type(values) is dict or isinstance(values, cls) or is_dataclass(values)
        if is_plain and not cls._ninja_resolvers:
            return handler(values)
        made: Self = super()._run_root_validator(values, handler, info)  # type: ignore[operator]
        return made
