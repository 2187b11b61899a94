"""Plant and nominal model of a study."""

import numpy as np
import pytest

from robotid_sim.errors import OptionError
from robotid_sim.model.export import write_urdf
from robotid_sim.model.robot import Robot
from robotid_sim.pipeline.build_robot import build_nominal, build_robot
from robotid_sim.pipeline.config import StudyConfig, load_config
from robotid_sim.pipeline.nominal import torque_mismatch
from robotid_sim.streams import Streams


def test_nominal_is_wrong_within_the_band_on_every_joint(robot: Robot) -> None:
    mismatch = torque_mismatch(build_nominal(robot, StudyConfig()), robot)
    assert (mismatch >= 0.05).all()
    assert (mismatch <= 0.30).all()


def test_nominal_depends_on_the_seed_alone(irb140: Robot) -> None:
    first, again, other = (
        build_nominal(irb140, load_config(None, {"seed": seed})).parameters() for seed in (0, 0, 1)
    )
    assert (first == again).all()
    assert (first != other).any()


def test_nominal_file_is_read_and_another_robot_refused(irb140: Robot, iiwa: Robot, tmp_path):
    write_urdf(irb140.with_payload(1.0), tmp_path / "nominal.urdf")
    config = load_config(None, {"nominal": {"file": str(tmp_path / "nominal.urdf")}})
    nominal = build_nominal(irb140, config)
    assert nominal.links[-1].phi[0] == pytest.approx(irb140.links[-1].phi[0] + 1.0)
    with pytest.raises(OptionError, match="other joints or another geometry"):
        build_nominal(iiwa, config)


def test_stages_draw_from_their_own_children_of_the_seed() -> None:
    draws = [Streams(0)(name).random() for name in ("design", "measure", "design")]
    assert draws[0] == draws[2] != draws[1]


def test_payload_of_the_configuration_hangs_at_the_tip() -> None:
    config = load_config(None, {"robot": {"payload": {"mass": 2.0, "com": [0.0, 0.0, 0.1]}}})
    bare = build_robot("irb140", StudyConfig().robot)
    loaded = build_robot("irb140", config.robot)
    np.testing.assert_allclose(
        loaded.links[-1].phi, bare.with_payload(2.0, (0.0, 0.0, 0.1)).links[-1].phi
    )
