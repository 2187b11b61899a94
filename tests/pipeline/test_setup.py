"""The setup of a study: the plant is in the cell alone, and derived things are built once."""

import gc
from collections import Counter
from types import ModuleType

import numpy as np
import pytest
from robots import urdf_path

from robotid_sim.dynamics import base_parameters as base_parameters_module
from robotid_sim.estimation import problem as problem_module
from robotid_sim.measurement.log import Log
from robotid_sim.model.catalog import load_robot
from robotid_sim.model.robot import Robot
from robotid_sim.model.urdf_xml import parse_xml
from robotid_sim.pipeline import build, nominal
from robotid_sim.pipeline.config import load_config
from robotid_sim.pipeline.excitation import design_excitation
from robotid_sim.pipeline.simulate import run_experiment
from robotid_sim.pipeline.stages import fit_logs
from robotid_sim.pipeline.study import run_study

SMALL = {"design": {"candidates": 5, "iterations": 2}}


def reachable(*values):
    """Return all that can be reached from values by references, but for classes and modules."""
    seen, stack = {}, list(values)
    while stack:
        value = stack.pop()
        if id(value) in seen or isinstance(value, type | ModuleType):
            continue
        if callable(value) and hasattr(value, "__globals__"):
            continue  # a function of a module reaches all of the module
        seen[id(value)] = value
        stack += gc.get_referents(value)
    return seen.values()


@pytest.fixture(scope="module", params=["twolink", pytest.param("irb140", marks=pytest.mark.slow)])
def setup(request):
    robot = load_robot(request.param)
    return build.build_setup(robot, load_config(None, SMALL).quick())


def holds_the_plant(values, plant):
    """Return what among values is the plant, its parameters, or its file."""
    phi, document = plant.parameters(), plant.document
    hits = []
    for value in values:
        if isinstance(value, Robot) and np.array_equal(value.parameters(), phi):
            hits.append(value)
        if isinstance(value, bytes) and document is not None and value == document.xml:
            hits.append(value)
    return hits


def test_the_plant_is_in_the_cell(setup):
    plant = setup.cell.plant
    assert any(value is plant for value in holds_the_plant(reachable(setup.cell), plant))


@pytest.mark.slow
def test_the_plant_is_not_reachable_from_what_design_and_identify_receive(setup):
    plant = setup.cell.plant
    designed_with = (setup.nominal, setup.basis, setup.excitation)
    assert holds_the_plant(reachable(*designed_with), plant) == []
    designs = design_excitation(*designed_with, setup.streams("design"))
    log = run_experiment(setup.cell, designs.trajectories[0], setup.streams("measure"))
    received = (log, setup.nominal, setup.basis, setup.fit)
    assert holds_the_plant(reachable(*received), plant) == []
    fit = fit_logs(*received, setup.streams("identify"))
    assert holds_the_plant(reachable(fit), plant) == []


def test_masses_of_the_plant_are_not_in_the_text_of_the_nominal_model(setup):
    document = setup.nominal.document
    assert document is not None
    masses = {float(e.get("value")) for e in parse_xml(document.xml, document.path).iter("mass")}
    assert masses
    assert not masses & {float(link.phi[0]) for link in setup.cell.plant.links if link.phi[0]}


def counted(monkeypatch, owner, name, key):
    """Count the calls of a function wherever it was imported, by a key of its arguments."""
    calls, function = Counter(), getattr(owner, name)

    def counting(*args, **kwargs):
        calls[key(*args, **kwargs)] += 1
        return function(*args, **kwargs)

    for module in list(__import__("sys").modules.values()):
        if getattr(module, "__name__", "").startswith("robotid_sim"):
            for attribute, value in list(vars(module).items()):
                if value is function:
                    monkeypatch.setattr(module, attribute, counting)
    return calls


def rows_of(motion, *_):
    """Return what decides the rows of a problem."""
    arrays = b"".join(getattr(motion, name).tobytes() for name in ("t", "q", "tau"))
    return arrays, repr(motion.row_filter)


@pytest.mark.slow
def test_nominal_basis_and_problem_are_built_once(monkeypatch, tmp_path):
    nominals = counted(monkeypatch, nominal, "perturbed_nominal", lambda *_, **__: "nominal")
    columns = ("Fv", "Fc", "Ia")
    bases = counted(
        monkeypatch,
        base_parameters_module,
        "base_parameters",
        lambda robot, names=(), *_: tuple(names),
    )
    problems = counted(monkeypatch, problem_module, "build_problem", rows_of)
    setup = build.build_setup(urdf_path("2r"), load_config(None, SMALL).quick())
    study = run_study(setup, tmp_path)
    assert nominals == {"nominal": 1}
    assert bases[columns] == 1
    assert problems[rows_of(study.fit.motion)] == 1
    # Nor any other problem, such as that of the unseen log, but that of the smoothed motion: the
    # fit asks it for gravity, and the comparison of preprocessors has it beside others.
    assert sorted(problems.values())[-2:] == [1, 2]
    assert isinstance(study.log, Log)
