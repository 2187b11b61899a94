"""A virtual experiment in words and tables."""

from collections.abc import Iterator

from robotid_sim.pipeline.simulate import Experiment
from robotid_sim.report.text.parts import Text
from robotid_sim.section import number
from robotid_sim.table import Table


def simulate_text(done: Experiment) -> Iterator[Text]:
    """Return peak torques, use of the limits, and what no real arm may run."""
    plant, log, peak = done.plant, done.log, done.peak_torque
    yield f"{plant.name}: {log.t.size} samples at {1.0 / log.dt:g} Hz"
    columns = {
        "joint": plant.joint_names,
        "peak torque": map(number, peak),
        "of limit": [f"{share:.0%}" for share in peak / plant.limits.effort],
    }
    for name, of_joints in done.limit_use.items():
        columns[name.replace("_", " ")] = [f"{share:.0%}" for share in of_joints]
    yield Table.of(columns)
    for name, share in zip(plant.joint_names, done.saturated, strict=True):
        if share > 0.0:
            yield (
                f"SATURATED: {name} is commanded more than its torque limit in "
                f"{100.0 * share:.2g} % of the samples, and does not follow; lower "
                "design.torque_ratio, or check rotor inertia and --plant-drive"
            )
    for text in done.contacts:
        yield f"CONTACT: {text}; no real arm may run this"
