"""Every option of every command, given wrongly: exit 2, one line, nothing written, no work."""

import re
import shutil

import pytest
from results import sealed
from robots import DATA
from sampling import sampled

from robotid_sim.cli.commands import COMMANDS
from robotid_sim.cli.help import load_command
from robotid_sim.experiment import rollout as rollout_module

FOLDERLESS = ("no/where", "cannot write no/where")
A_FOLDER = (".", "it is a folder")

BAD = {
    "robot": [("2r.urd", "no robot '2r.urd'"), ("irb14", "did you mean 'irb140'?")],
    "config": [
        ("none.toml", "cannot read configuration none.toml"),
        ("bad.toml", "bad.toml: unknown key 'sead' (did you mean 'seed'?)"),
        ("deep.toml", "unknown scenario 'paylod' (did you mean 'payload'?)"),
    ],
    "plugin": [("no_such_module", "plugin no_such_module")],
    "seeds": [("0", "--seeds"), ("1.5", "--seeds"), ("nan", "--seeds")],
    "seed": [("-1", "--seed"), ("1.5", "--seed"), ("nan", "--seed")],
    "base": [("bse", "no link 'bse' (did you mean 'base'?)")],
    "tip": [("lowr", "no link 'lowr' (did you mean 'lower'?)")],
    "payload": [("1,2", "--payload '1,2'"), ("-1", "mass"), ("nan", "mass"), ("inf", "mass")],
    "nominal": [("none.urdf", "nominal model: no robot 'none.urdf'")],
    "preset": [("labb", "unknown sensor preset 'labb' (did you mean 'lab'?)")],
    "plant_friction": [("stribek", "unknown friction law 'stribek' (did you mean 'stribeck'?)")],
    "plant_drive": [("elastc", "unknown plant drive 'elastc' (did you mean 'elastic'?)")],
    "engine": [("mujco", "unknown engine 'mujco' (did you mean 'mujoco'?)")],
    "workers": [("0", "--workers"), ("two", "--workers")],
    "runs": [("0", "--runs"), ("inf", "--runs")],
    "report": [FOLDERLESS, A_FOLDER],
    "urdf": [FOLDERLESS, A_FOLDER],
    "csv": [FOLDERLESS, A_FOLDER],
    "junit": [FOLDERLESS, A_FOLDER],
    "out": [FOLDERLESS, A_FOLDER],
    **{
        (c, "out"): [("2r.urdf/out", "cannot write")]
        for c in ("run", "certify", "reproduce", "campaign", "deploy")
    },
    "estimator": [("wlss", "unknown estimator 'wlss' (did you mean 'wls'?)")],
    "log": [("none.h5", "none.h5"), ("t.json", "t.json")],
    "loaded": [("none.h5", "none.h5")],
    "estimate": [("none.json", "none.json"), ("t.json", "t.json")],
    "estimates": [
        ("none.json", "none.json"),
        ("t.json", "t.json"),
        (".", "holds no complete run of robotid"),
    ],
    "trajectory": [("none.json", "none.json"), ("e.json", "e.json")],
    "to": [("fanuk", "(did you mean 'fanuc'?)"), ("ur", "(URScript) has 6 joints, '2r' has 2")],
    "rate": [("0", "set points a second"), ("nan", "set points a second")],
    "terms": [("coging", "unknown term 'coging' (did you mean 'cogging'?)")],
    "drive_gain_std": [("-0.1", "--drive-gain-std"), ("nan", "--drive-gain-std")],
    "family": [("fourrier", "unknown excitation family 'fourrier' (did you mean 'fourier'?)")],
    "criterion": [("d-optimal", "unknown criterion 'd-optimal' (did you mean 'd-optimality'?)")],
    "solver": [("sqslp", "unknown solver 'sqslp' (did you mean 'slsqp'?)")],
    "count": [("0", "--count")],
    "prior": [("none.json", "none.json"), ("none.h5", "none.h5")],
    "clearance": [("-1", "--clearance"), ("nan", "--clearance"), ("9", "at most")],
    "floor": [("nan", "floor"), ("low", "--floor")],
    "controller": [("slidingmode", "did you mean 'sliding-mode'?")],
    ("payload", "controller"): [("kukka", "unknown controller 'kukka' (did you mean 'kuka'?)")],
    "task": [
        ("circl", "did you mean 'circle'?"),
        ("csv", "--task csv:FILE"),
        ("csv:none.csv", "cannot read path file none.csv"),
    ],
    ("view", "task"): [
        ("joint-elipse-fast", "(did you mean 'joint-ellipse-fast'?); known: joint-ellipse-fast")
    ],
    "magnify": [("0", "--magnify"), ("-1", "--magnify"), ("nan", "positive"), ("inf", "positive")],
    "scenario": [("payload+sinus", "did you mean 'sinusoidal'?")],
    "model": [("wlss", "unknown model 'wlss' of the closed loop"), ("published:x", "published")],
    "load": [
        ("1,2", "--load '1,2' needs 1, 4 or 10 numbers"),
        ("0", "give its mass"),
        ("-1", "'mass': should be greater than or equal to 0, got -1.0"),
        ("nan", "'mass': should be a finite number, got nan"),
        ("1,inf,0,0", "'com.0': should be a finite number, got inf"),
    ],
    "paper": [("irb140-qps", "did you mean 'irb140-qpso'?")],
    "result": [("nowhere", "nowhere")],
    "record": [("film.avi", "unknown format '.avi'"), ("no/p.png", "cannot write no/p.png")],
    "port": [("0", "--port"), ("65536", "--port"), ("http", "--port")],
    "time": [("nan", "--time"), ("1e9", "is not in the motion")],
    "fps": [("nan", "--fps"), ("0", "0 frames per second"), ("1e9", "give 0.1 to 240")],
    "speed": [("inf", "--speed"), ("0", "a speed of 0"), ("-1", "a speed of -1")],
    "size": [
        ("640", "--size '640'"),
        ("1x1", "a size of 1x1"),
        ("-5x480", "-5x480"),
        ("0x9999999", "a size of"),
    ],
    "camera": [("to", "unknown camera 'to' (did you mean 'top'?)")],
    "source": [
        ("none.csv", "cannot read none.csv"),
        ("t.json", "t.json"),
        (".", "cannot read bag"),
    ],
    ("import", "out"): [
        ("no/where.h5", "cannot write no/where.h5"),
        ("new.txt", "the name of a log must end in .h5 or .csv"),
    ],
    "mapping": [
        ("none.toml", "cannot read map none.toml"),
        (
            "bad.toml",
            "unknown key 'sead' (did you mean 'schema'?); known here: schema, profile, time, ",
        ),
    ],
    "hold_out": [
        ("first:3%", "unknown hold-out 'first:3%'; give last:30%, blocks:4 or a log"),
        ("last:95%", "hold out at most 90 % of a log"),
        ("blocks:1", "2 to 20 blocks"),
        ("2r.urdf", "2r.urdf: its lines are not a table"),
    ],
    "posterior_samples": [
        ("0 drawn", "the number of posterior samples must be 1 to 10000, got 0"),
        ("2 bad.toml", "cannot write in folder bad.toml"),
        ("2 2r.urdf", "cannot write 2r.urdf: it is read by this command"),
        ("two drawn", "--posterior-samples"),
    ],
    "write_map": [FOLDERLESS, A_FOLDER],
    "profile": [("ur", "unknown profile 'ur'")],
    "topic": [("/joint_states", "--topic /joint_states: l.h5 is not a ROS bag")],
    "segment": [("0", "--segment"), ("9", "there is no segment 9; there are 1: ")],
    "joint": [("elbo", "unknown joint 'elbo' (did you mean 'elbow'?)")],
    "show": [("pnel", "unknown layer 'pnel' (did you mean 'panel'?)")],
    "renderer": [("elg", "unknown renderer 'elg' (did you mean 'egl'?)")],
    "format": [("urfd", "urfd"), ("", "an empty value")],
    "meshes": [("copied", "copied"), ("", "an empty value")],
    "parameters": [FOLDERLESS, A_FOLDER],
    "total_mass": [("nan", "--total-mass"), ("-1", "positive"), ("inf", "--total-mass")],
    "kind": [("estimater", "unknown kind 'estimater' (did you mean 'estimators'?)")],
    "name": [("wlss", "(did you mean 'wls'?)")],
    ("schema", "name"): [("resul", "(did you mean 'result'?)")],
    "action": [("rn", "rn"), ("", "an empty value")],
    "where": [
        ("encodr", "unknown plan 'encodr' (did you mean 'encoder'?); known: cad, "),
        ("bad.toml", "bad.toml: unknown key 'sead'; known: title, question, robot, "),
        ("t.json", "cannot read plan t.json"),
    ],
    "cluster": [("nowhere", "--cluster nowhere")],
}
"""By parameter, or command and parameter: values that are refused, and words of what is said."""

RIGHT = {
    "run": "2r.urdf --out out",
    "certify": "2r.urdf --out out",
    "check": "2r.urdf",
    "design": "2r.urdf -o new.json",
    "deploy": "2r.urdf t.json --to csv -o new",
    "simulate": "2r.urdf --trajectory t.json -o new.h5",
    "import": "l.h5 --robot 2r.urdf -o new.h5",
    "identify": "2r.urdf l.h5 -o new.json",
    "diagnose": "2r.urdf l.h5",
    "predict": "2r.urdf e.json l.h5",
    "compare": "e.json e.json",
    "validate": "2r.urdf e.json",
    "payload": "2r.urdf l.h5 l.h5",
    "campaign": "run encoder --out out",
    "reproduce": "twolink-elpidso --out out",
    "view": "2r.urdf --record new.png --log l.h5",
    "export": "2r.urdf -o new.urdf",
    "cad": "2r.urdf --total-mass 3 -o new.urdf",
    "list": "estimators wls",
    "schema": "result",
}
"""Words of every command that are accepted, and into which one wrong value is put."""

INSTEAD = {
    ("check", "out"): "2r.urdf --repair",
    ("export", "estimate"): "2r.urdf -o new.h",
    ("cad", "robot"): "2r.urdf --total-mass 3 -o new.urdf",
    **{("view", p): "2r.urdf --record new.gif --log l.h5" for p in ("fps", "speed")},
    **{("view", p): "2r.urdf --record new.png" for p in ("trajectory", "result")},
    ("view", "joint"): "2r.urdf --record new.png --show curves",
    ("view", "port"): "2r.urdf --web --no-open",
    ("view", "task"): "2r.urdf --record new.png --result study",
    ("view", "magnify"): "2r.urdf --record new.png --result study --task joint-step",
    **{
        ("view", p): "2r.urdf --record new.png --trajectory t.json"
        for p in ("seed", "nominal", "preset", "plant_friction", "plant_drive", "engine")
    },
}
"""Words for parameters that act only beside others."""

COMBINED = {
    "check 2r.urdf -o new.urdf": "give it together with --repair",
    "view 2r.urdf --log l.h5 --result out --record new.png": "give one of --trajectory, --log",
    "view 2r.urdf --log l.h5 --log l.h5 --record new.png" + 4 * " --log l.h5": "at most 5 motions",
    "view 2r.urdf --task joint-step --record new.png": "--task acts only with --result",
    "view study --task joint-step --record new.png": "which is not in study; give the ROBOT",
    "view study --result study --task joint-step --record new.png": "give the ROBOT of the study",
    "view 2r.urdf --result study --task joint-step --log l.h5": "--log has no effect with --task",
    "view 2r.urdf --result study --task joint-step --trajectory t.json": "no effect with --task",
    "view 2r.urdf --result study --magnify 5 --record new.png": "--magnify acts only with --task",
    "view 2r.urdf --result study --no-clearance": "--no-clearance acts only with --task",
    "view 2r.urdf --result study --plant-friction stribeck": "with --trajectory or --task",
    "view 2r.urdf --result study --plant-drive elastic": "with --trajectory or --task",
    "simulate 2r.urdf --trajectory t.json -o n.h5 --plant-drive elastic": "has no rotor inertia",
    "view 2r.urdf --result study --task joint-step --seed 1": "--seed acts only with --trajectory",
    "view 2r.urdf --result . --task joint-step --record new.png": "holds no complete run",
    "view 2r.urdf --record new.png --seed 1": "--seed acts only with --trajectory",
    "view 2r.urdf --record new.png --preset lab": "--preset acts only with --trajectory",
    "view 2r.urdf --record new.png --joint elbow": "--joint acts only with the layer curves",
    "view 2r.urdf --log l.h5 --time 1": "--time acts only with --record",
    "view 2r.urdf --log l.h5 --fps 10": "--fps acts only with --record",
    "view 2r.urdf --log l.h5 --joint elbow": "--joint acts only with --record",
    "view 2r.urdf --log l.h5 --renderer egl": "--renderer acts only with --record",
    "view 2r.urdf --record new.png --web": "--record has no effect with --web",
    "view 2r.urdf --show path --web": "--show has no effect with --web",
    "view 2r.urdf --size 640x480 --web": "--size has no effect with --web",
    "view 2r.urdf --joint elbow --web": "--joint acts only with --record",
    "view 2r.urdf --web --renderer egl": "--renderer acts only with --record",
    "view 2r.urdf --web --speed 0": "a speed of 0 is not usable",
    "view 2r.urdf --log l.h5 --port 8000": "--port acts only with --web",
    "view 2r.urdf --log l.h5 --no-open": "--no-open acts only with --web",
    "design 2r.urdf -o new.json --no-replay": "--no-replay acts only with --report",
    "identify 2r.urdf l.h5 -o new.json --no-replay": "--no-replay acts only with --report",
    "view 2r.urdf --record new.png --fps 10": "--fps and --speed are for a film",
    "view 2r.urdf --record new.mp4 --size 641x480": "even",
    "view 2r.urdf --record new.png --size 640": "is not of the form 640x480",
    "cad 2r.urdf --total-mass -1 -o new.urdf": "a positive, finite number",
    "payload 2r.urdf l.h5 l.h5 --load 0": "give its mass",
    "view 2r.urdf --record new.gif --time 1": "a time is for a picture",
    "design 2r.urdf -o new.json --clearance 0.1 --no-clearance": "--clearance has no effect with",
    "design 2r.urdf -o new.json --floor 0 --no-clearance": "--floor has no effect with",
    "design 2r.urdf -o t.json --prior t.json": "cannot write t.json: it is read",
    "import l.h5 --robot 2r.urdf -o l.h5": "cannot write l.h5: it is read",
    "import l.h5 --robot 2r.urdf -o a.csv --write-map a.csv": "is written twice",
    "import l.h5 --robot irb140 -o new.h5": "found no position columns for the joints joint_1",
    "diagnose 2r.urdf l.h5 --seed 1 --nominal 2r.urdf": "--seed has no effect with --nominal",
    "payload 2r.urdf l.h5 l.h5 --seed 1 --nominal 2r.urdf": "--seed has no effect",
    "compare e.json": "a comparison needs at least 2 estimates, got 1",
    "compare e.json ./e.json": "e.json is given twice; give estimates of independent logs",
    "compare e.json study -o new.json --report new.json": "it is written twice",
    "compare e.json study": "study/estimate.json",
    "simulate 2r.urdf --trajectory t.json -o new.txt": "new.txt",
    "campaign run encoder": "campaign run needs a folder for its trials; give --out FOLDER",
    "campaign run": "campaign run needs a plan",
    "campaign status": "campaign status needs the folder of a campaign",
    "campaign status study": "study has no campaign",
    "campaign summary study --quick": "--quick acts only with run; leave it out",
    "campaign status study --out out": "--out acts only with run or export; leave it out",
    "campaign export study -o t.txt": "campaign export writes .csv or .parquet; give it with --out",
    "campaign list encoder": "list takes no PLAN",
    "run 2r.urdf --out out --out": "--out",
    "certify 2r.urdf --out out --engine mujoco": "no such option --engine",
    "certify 2r.urdf": "Missing option '-o' / '--out'",
    "run": "Missing argument 'ROBOT'",
    "run 2r.urdf another --out out": "another",
    "check 2r.urdf --preset lab": "no such option --preset",
    "check 2r.urdf --sead 1": "no such option --sead",
    "check 2r.urdf --assume-limit": "(did you mean '--assume-limits'?)",
    "--verson": "(did you mean '--version'?)",
    "chek 2r.urdf": "unknown command 'chek' (did you mean 'check'?)",
}
"""Whole command lines whose options do not fit together, or are none."""


CONFIGURED = {
    "[nominal]\nfile = 'none.urdf'": "nominal model: no robot 'none.urdf'",
    "robot = 3": "'robot': should be a table, got 3",
    "seed = -1": "'seed': should be greater than or equal to 0, got -1",
    "preset = 'labb'": "(did you mean 'lab'?)",
    "[nominal]\nscale = nan": "'nominal.scale': should be a finite number, got nan",
    "[robot.payload]\nmas = 1.0": "'robot.payload.mas' (did you mean 'mass'?)",
    "[robot.payload]\ncom = [0, 0, 0]": "'robot.payload.mass': is required",
    "[robot.joints.shouldr]\neffort = 1.0": "(did you mean 'shoulder'?)",
    "[robot.joints.shoulder]\neffrt = 1.0": "(did you mean 'effort'?)",
    "[design.constraints]\nboxes = [{ lowr = [0, 0, 0] }]": "boxes.0.lowr' (did you mean 'lower'?)",
    "[design.options]\nperio = 3": "(did you mean 'period'?)",
    "[design.criterion_options]\nfloo = 1": "(did you mean 'floor'?)",
    "[design]\nsolver = 'slsq'": "(did you mean 'slsqp'?)",
    "[experiment.friction]\nlaw = 'stribek'": "(did you mean 'stribeck'?)",
    "[sensors.encoder-nois]": "(did you mean 'encoder-noise'?)",
    "[sensors.encoder-noise]\nrevolut = 1.0": "(did you mean 'revolute'?)",
    "[preprocess]\nname = 'rtss'": "(did you mean 'rts'?)",
    "[preprocess.rows]\ncutof = 3.0": "(did you mean 'cutoff'?)",
    "[preprocess]\ncutoffs = [5.0, 6.0]": "each must lie above 0 and up to 5 Hz",
    "[preprocess]\noptions.low_pass = 'own'": "unknown low-pass 'own'",
    "[estimation.options.wls]\nround = 3": "(did you mean 'rounds'?)",
    "[estimation]\njoint_parameters = ['Fw']": "unknown joint parameter 'Fw'",
    "[estimation]\nestimators = ['restricted-least-squares']\nchosen = 'restricted-least-squares'\n"
    "[estimation.options.restricted-least-squares]\nprior = -0.1": "the prior must be positive",
    "[control.tasks.circl]": "(did you mean 'circle'?)",
    "[control.tasks.circle]\nsiz = 0.1": "(did you mean 'size'?)",
    "[control.conditions.payload]\nmas = 1.0": "(did you mean 'mass'?)",
    "[control]\nbaselines = ['pidd']": "(did you mean 'pid'?)",
    "[control]\nscenarios = ['paylod']": "(did you mean 'payload'?)",
    "[control]\nmodels = ['wlss']": "(did you mean 'wls'?)",
}
"""Configurations, and words of the line that refuses each, whatever the command needs of them."""


def parameters(command):
    """Return the parameters of a command with what the parser calls them."""
    return [p for p in load_command(command).params if p.name != "help"]


def bad_values(command, parameter):
    """Return values that a parameter cannot have, with words of the line that refuses each."""
    if getattr(parameter, "is_flag", False):
        return ()
    return BAD.get((command, parameter.name)) or BAD[parameter.name]


@pytest.fixture(scope="module")
def files(short, tmp_path_factory):
    """Return a folder with a robot and the files of a short study of it."""
    folder = tmp_path_factory.mktemp("files")
    shutil.copy(DATA / "2r.urdf", folder)
    for file, name in (
        (short.config, "short.toml"),
        (short.path, "t.json"),
        (short.log, "l.h5"),
        (short.estimate, "e.json"),
    ):
        shutil.copy(file, folder / name)
    (folder / "study").mkdir()
    for name in ("nominal", "identified"):
        shutil.copy(DATA / "2r.urdf", folder / "study" / f"{name}.urdf")
    sealed(folder / "study")
    (folder / "bad.toml").write_text("sead = 1\n")
    (folder / "deep.toml").write_text("[control.conditions.paylod]\nmass = 1.0\n")
    return folder


@pytest.fixture
def refused(robotid, files, monkeypatch):
    """Return a function that gives the one line of a command that is refused before any work."""

    def work(*_args, **_options):
        raise AssertionError("work was begun")

    monkeypatch.chdir(files)
    monkeypatch.setattr(rollout_module, "rollout", work)

    def run(*words: str) -> str:
        before = sorted(files.rglob("*"))
        done = robotid(*words)
        assert (done.code, done.out) == (2, ""), (words, done)
        assert done.err.startswith("robotid: ")
        assert done.err.count("\n") == 1
        assert sorted(files.rglob("*")) == before
        return done.err

    return run


def with_value(command, parameter, value):
    """Return the words of a command with another value of one parameter."""
    words = INSTEAD.get((command, parameter.name), RIGHT[command]).split()
    if parameter.param_type_name == "argument":
        arguments = [p.name for p in parameters(command) if p.param_type_name == "argument"]
        words[arguments.index(parameter.name)] = value
        return words
    for name in parameter.opts:
        if name in words and not parameter.multiple:
            place = words.index(name)
            del words[place : place + 2]
    return [*words, parameter.opts[-1], *(value.split() if parameter.nargs > 1 else [value])]


@pytest.mark.parametrize(
    "command", sampled(COMMANDS, "run", "identify", "campaign", mark=pytest.mark.slow)
)
def test_a_value_that_cannot_be_is_refused(refused, command) -> None:
    for parameter in parameters(command):
        for value, said in bad_values(command, parameter):
            assert said in refused(command, *with_value(command, parameter, value))


@pytest.mark.parametrize("command", COMMANDS)
def test_a_flag_takes_no_value(refused, command) -> None:
    for flag in (p.opts[-1] for p in parameters(command) if getattr(p, "is_flag", False)):
        said = refused(command, *RIGHT[command].split(), f"{flag}=yes")
        assert re.search(rf"{flag}'? does not take a value", said)


@pytest.mark.parametrize("words", COMBINED)
def test_options_that_do_not_fit_together_are_refused(refused, words) -> None:
    assert COMBINED[words] in refused(*words.split())


@pytest.mark.parametrize("text", CONFIGURED)
@pytest.mark.parametrize("command", ["export", "run"])
def test_a_configuration_is_refused_at_any_depth(refused, files, text, command) -> None:
    (files / "wrong.toml").write_text(text + "\n")
    said = refused(command, *RIGHT[command].split(), "--config", "wrong.toml")
    assert CONFIGURED[text] in said


ARM = DATA / "2r.urdf"


@pytest.fixture
def told(robotid, tmp_path):
    """Return a function that runs a study by a configuration and returns the one line it says."""

    def run(text: str, *words: str) -> str:
        config, out = tmp_path / "c.toml", tmp_path / "out"
        config.write_text(text)
        done = robotid("run", ARM, "--out", out, "--config", config, *words)
        assert done.code == 2
        assert done.out == ""
        assert done.err.startswith("robotid: ")
        assert done.err.count("\n") == 1
        assert not out.exists()
        return done.err

    return run


@pytest.mark.parametrize("bits", [0, 1000])
def test_an_encoder_has_a_sensible_number_of_bits(told, bits) -> None:
    said = told(f"[sensors.encoder-quantization]\nbits = {bits}\n")
    assert f"bits must lie between 1 and 52, got {bits}" in said


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ("smoother = 3", "no option 'smoother'; options: method, delay, low_pass, outliers\n"),
        ("message = 'x'", "no option 'message'; options: method, delay, low_pass, outliers\n"),
        ("outliers = 'a'", "option 'outliers' must be a number, got 'a'"),
        ("outliers = nan", "outliers nan"),
        ("rows = 3", "preprocess.rows"),
        ("name = 3", "no option 'name'"),
    ],
)
def test_an_option_has_a_name_and_a_kind(told, options, words) -> None:
    assert words in told(f"[preprocess]\nname = 'adaptive'\noptions = {{ {options} }}\n")


@pytest.mark.parametrize(
    ("design", "words"),
    [
        ("period = 0.01", "design.period is 0.01 s; give at least 2.21 s"),
        ("period = 0.2", "design.period is 0.2 s; give at least 2.21 s"),
        ("period = 2.0\nperiods = 1\nharmonics = 3000", "'harmonics' is 3000; give at most 50"),
        ("family = 'b-spline'\noptions = { points = 99 }", "'points' is 99; give at most 50"),
        ("family = 'fourier-quintic'\nharmonics = 99", "'harmonics' is 99; give at most 50"),
    ],
)
@pytest.mark.parametrize("flags", [(), ("--dry-run",)], ids=["run", "dry"])
def test_an_excitation_can_be_sampled_fitted_and_held(told, design, words, flags) -> None:
    assert words in told(f"[design]\n{design}\n", *flags)


CONSTRAINED = "[design.constraints]\n"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[design]\nprior = ['none.json']", "none.json"),
        ("[design]\nnoise_std = [1.0]", "design.noise_std has 1 numbers for 2 joints"),
        ("[design]\nnoise_std = [1.0, -1.0]", "noise_std must be positive"),
        (CONSTRAINED + "start = [9.0, 0.0]", "the start pose has joint 'shoulder' at 9, outside"),
        (CONSTRAINED + "start = [0.0]", "design.start has 1 numbers for 2 joints"),
        (
            "[[design.constraints.boxes]]\nlower = [1.0, 0.0, 0.0]\nupper = [0.0, 1.0, 1.0]",
            "a box needs three lower bounds below three upper ones",
        ),
        (
            "[[design.constraints.planes]]\nnormal = [0.0, 0.0, 0.0]\noffset = 1.0",
            "must not be zero",
        ),
    ],
)
@pytest.mark.parametrize("flags", [(), ("--dry-run",)], ids=["run", "dry"])
def test_what_a_run_refuses_its_plan_does(robotid, tmp_path, text, words, flags) -> None:
    config = tmp_path / "c.toml"
    config.write_text(text)
    done = robotid("run", ARM, "--out", tmp_path / "out", "--config", config, *flags)
    assert done.code in (1, 2)
    assert (done.out, done.err.count("\n"), words in done.err) == ("", 1, True)


@pytest.mark.parametrize("flags", [(), ("--dry-run",)], ids=["run", "dry"])
def test_a_path_has_samples_that_fit_into_memory(told, tmp_path, flags) -> None:
    rows = "".join(f"{30.0 * k},0.0,{1.0 + 0.001 * k}\n" for k in range(1000))
    (tmp_path / "long.csv").write_text(f"t,shoulder,elbow\n{rows}")
    said = told(f"[control.tasks.csv]\npath = '{tmp_path / 'long.csv'}'\n", *flags)
    assert "task csv-long runs for 3e+04 s, which are 3e+07 samples at 1000 Hz" in said


def test_a_plan_looks_at_its_folder(robotid, tmp_path) -> None:
    (tmp_path / "result.json").write_text("{}")
    for folder, words in (
        (tmp_path, "result.json: it is of no run"),
        (tmp_path / "result.json", "cannot write in folder"),
    ):
        done = robotid("run", ARM, "--out", folder, "--dry-run")
        assert (done.code, done.out, words in done.err) == (2, "", True)


def test_a_harmonic_has_two_samples_at_least(told, robotid, tmp_path) -> None:
    said = told("[design]\nperiod = 2.5\nharmonics = 50\n[experiment]\nrate = 40.0\n")
    assert "design.harmonics is 50; it must be less than 50 for 2.5 s at 40 Hz" in said
    assert "less than 50" in said
    words = ("-o", tmp_path / "t.json", "--config", tmp_path / "c.toml")
    assert robotid("design", ARM, *words).err == said
