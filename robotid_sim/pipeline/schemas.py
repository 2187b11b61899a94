"""JSON Schemas of the files, from the pydantic models that read and write them."""

from collections.abc import Mapping
from pkgutil import resolve_name
from typing import Any

from pydantic import BaseModel, Field, create_model

from robotid_sim.errors import UnknownNameError

DRAFT_ADDRESS = "https://json-schema.org/draft/2020-12/schema"

SCHEMA_SOURCES: Mapping[str, str] = {
    "result": "robotid_sim.pipeline.result:StudyResult",
    "estimate": "robotid_sim.pipeline.schemas:estimate_file",
    "log": "robotid_sim.pipeline.schemas:LogHeader",
    "study": "robotid_sim.pipeline.config:StudyConfig",
    "map": "robotid_sim.importing.import_map:ImportMap",
}
"""Location of the model of every kind of file, or of the function that builds it."""


def schema(name: str) -> dict[str, Any]:
    """Return the JSON Schema of ``result``, ``estimate``, ``log``, ``study`` or ``map``.

    Raises `UnknownNameError` if there is no such kind.
    """
    if name not in SCHEMA_SOURCES:
        raise UnknownNameError.from_names("schema", name, SCHEMA_SOURCES)
    model: Any = resolve_name(SCHEMA_SOURCES[name])
    model = model if isinstance(model, type) else model()
    return {"$schema": DRAFT_ADDRESS, **model.model_json_schema(by_alias=True)}


def estimate_file() -> type[BaseModel]:
    """Build the model of an estimate file: its estimates and their context."""
    from robotid_sim.estimation.estimate import EstimateContext, EstimateScalars

    numbers: Any = list[float] | None
    matrix: Any = list[list[float]] | None
    arrays: dict[str, Any] = dict.fromkeys(("phi", "weights", "dof"), (numbers, None))
    arrays |= dict.fromkeys(("beta", "torque_rms", "noise_std"), (list[float], ...))
    arrays |= dict.fromkeys(("cov", "cov_white"), (matrix, None))
    entry: Any = create_model("EstimateEntry", __base__=EstimateScalars, **arrays)
    tag = Field(alias="schema")
    return create_model(
        "EstimateFile", __base__=EstimateContext, schema_=(str, tag), estimates=(list[entry], ...)
    )


class LogHeader(BaseModel):
    """Comment lines of a log in CSV: information that is not in its columns."""

    schema_: str = Field(alias="schema")
    """Kind and version of the file."""
    joint_units: str = ""
    """Unit of every joint, rad or m, with spaces between them; by default all are rad."""
    origin: str = ""
    """Origin of the log: machine or simulation."""
    torque_constant: str = ""
    """Torque constant of every joint [N m/A or N/A]."""
    torque_time_offset: float = 0.0
    """Delay of the torque of a sample relative to its position [s]."""
    period: float | None = None
    """Period of a periodic excitation [s]."""
    seed: int | None = None
    """Seed of the noise of a simulated log."""
