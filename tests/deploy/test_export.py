"""Exported files: the same actions, values and plans as the run's own, and what the files say of themselves."""

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest
from exported import ORIGIN, choosing_run, rover_run, walking_run, with_own_graph

import mvl
import mvl.runtime
from mvl import registry
from mvl.cli import main
from mvl.deploy.export.check import BATCHES, noise
from mvl.deploy.export.exporting import export_onnx, export_stablehlo
from mvl.errors import DamagedError, MvlError, UsageError
from mvl.planning.values import steps_function
from mvl.recipes.families import FAMILIES, REPRESENTATIONS

PLANNED = [name for name in FAMILIES if name not in ("crl", "bc", "fbc")]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("exported")


@pytest.fixture(scope="module")
def planned(folder):
    """One run with its three files."""
    run = with_own_graph(walking_run(folder / "planned", "gcivl", seeds=2))
    return run, export_onnx(run, folder / "planned.onnx", plan="graph")


def walk(count=50, size=2, seed=0):
    """Observations of an episode, which stays in one place for long enough to be planned again."""
    steps = np.random.default_rng(seed).normal(0, 0.1, (count, size))
    steps[5:35] = 0
    return np.cumsum(steps, axis=0)


@pytest.mark.parametrize("name", FAMILIES)
def test_every_family_acts_as_the_run_does(name, folder):
    """With its planner and without; where there is none, a plan is refused and nothing is written."""
    run, plans = walking_run(folder / name, name), ["none"]
    if name in PLANNED:
        with_own_graph(run)
        plans.append("graph")
    else:
        with pytest.raises(UsageError, match="a plan needs a value that counts steps"):
            export_onnx(with_own_graph(run), folder / f"{name}.onnx", plan="graph")
    assert not list(folder.glob(f"{name}.*"))
    (file, *_) = export_onnx(run, folder / f"{name}.onnx", plan=plans[-1])
    for plan in plans:
        follow(mvl.runtime.load(file, plan=plan), mvl.load_policy(run, plan=plan), drawn_at_random=name == "fbc")


def follow(exported, own, drawn_at_random):
    """An episode with both: the same actions, and the same plans, made again on the way."""
    assert bool(exported._policy.noise) == drawn_at_random
    goal = np.array([1.0, -1.5])
    for observation in walk():
        action, expected = exported.act(observation, goal), own.act(observation, goal)
        assert action.shape == expected.shape == (2,)
        assert drawn_at_random or np.allclose(action, expected, atol=1e-5)
        if own._follower:
            assert exported._follower.node == own._follower.node
            assert np.array_equal(exported._follower.onward, own._follower.onward)
    assert own._follower is None or exported._follower.factors, "it was planned again"


@pytest.mark.parametrize("name", ["vib", "vip", "tra", "byol", "subgoal", "hiql-dual", "qrl-dual", "trl-vip"])
def test_every_representation_acts_and_values_as_the_run_does(name, folder):
    """The export itself compares both on random inputs, with the same noise; here with what users call."""
    run = walking_run(folder / f"r-{name}", name)
    exported, own = mvl.runtime.load(export_onnx(run, folder / f"r-{name}.onnx")[0]), mvl.load_policy(run)
    states, goals = np.random.default_rng(1).normal(size=(2, 3, 2))
    if "vib" in name:
        assert (exported._policy.noise or exported._value.noise).values()
        assert np.array_equal(exported.value(states, goals), exported.value(states, goals)), "a value without noise"
        return
    assert np.allclose(exported.act(states, goals), own.act(states, goals), atol=1e-5)
    assert np.allclose(exported.value(states, goals), own.value(states, goals), atol=1e-5)
    assert np.allclose(exported.value(states[0], goals), own.value(states[0], goals), atol=1e-5)


@pytest.mark.parametrize(("recipe", "levels"), [("gcivl", 3), ("gcivl", 2), ("qrl", 3), ("gciql", 2)])
def test_the_best_of_discrete_actions_is_chosen(recipe, levels, folder):
    """By a value with an output for each (in place of GCIVL's), and by critics that are asked about each."""
    run = choosing_run(folder / f"choice-{recipe}-{levels}", recipe, levels)
    exported, own = mvl.runtime.load(export_onnx(run, folder / f"choice-{recipe}-{levels}.onnx")[0]), mvl.load_policy(run)
    states, goals = np.random.default_rng(1).normal(size=(2, 20, 2))
    assert np.array_equal(exported.act(states, goals), own.act(states, goals))
    assert np.allclose(exported.value(states, goals), own.value(states, goals), atol=1e-5)


def test_every_part_is_tried_above():
    assert {*REPRESENTATIONS} == {*registry.names("representation")}
    assert {family.policy for family in FAMILIES.values()} | {"greedy"} == {*registry.names("policy")}
    assert {family.value for family in FAMILIES.values()} | {"discrete_q"} == {*registry.names("value")}


@pytest.mark.parametrize(
    ("recipe", "history", "chunk", "choices"), [("gcivl", 2, 3, True), ("trl", 1, 1, True), ("fbc", 2, 2, False)]
)
def test_data_of_ones_own_keeps_its_units(recipe, history, chunk, choices, folder):
    """Far from zero, with an angle that wraps, levels, a history and chunks: the exported policy takes and gives the source's."""
    run = rover_run(folder / f"rover-{recipe}", recipe, history, chunk, choices)
    exported = mvl.runtime.load(export_onnx(run, folder / f"rover-{recipe}.onnx")[0])
    own = mvl.load_policy(run)
    draw = np.random.default_rng(0)
    goal = {"place": np.array([5e6 + 0.3, -2e6]), "yaw": 350.0}
    for _ in range(2 * chunk + 1):
        place = ORIGIN[:2] + draw.uniform(-1, 1, 2)
        observation = {"x": place[0], "y": place[1], "yaw": draw.uniform(-720, 720)}
        found = exported.act(observation, goal)
        assert recipe == "fbc" or np.allclose(found, own.act(observation, goal), atol=1e-6)
        if choices:
            assert found[1] in (10, 20)
            assert found[2] in (-1, 0, 4)
    assert np.array_equal(exported.act_chunk(observation, goal).shape, (chunk, 3 if choices else 1))


def test_plain_onnxruntime_is_enough(planned):
    (_, files) = planned
    session = onnxruntime.InferenceSession(files[0])
    for rows in BATCHES:
        (actions,) = session.run(None, {name: np.zeros((rows, 2), np.float32) for name in ("observation", "goal")})
        assert actions.shape == (rows, 1, 2)
    about = json.loads(session.get_modelmeta().custom_metadata_map["mvl"])
    assert about["format"] == 1
    assert about["version"] == mvl.__version__
    assert (about["recipe"], about["task"]) == ("gcivl", "pointmaze-medium-navigate-v0")
    assert (about["observation_size"], about["goal_size"], about["action_size"]) == (2, 2, 2)
    assert (about["history"], about["chunk"], about["execute"]) == (1, 1, "open")
    assert len(onnx.load(files[0]).graph.node) == 8


def test_the_metadata_names_what_the_data_names(folder):
    run = rover_run(folder / "named")
    (file, _) = export_onnx(run, folder / "named.onnx", plan="none")
    about = mvl.runtime.load(file).about
    assert about["hz"] == 25
    assert about["signals"]["observations"][0] == {
        "name": "place",
        "labels": ["x", "y"],
        "unit": "m",
        "levels": [],
        "period": 0.0,
    }
    assert about["action_levels"] == [[], [10, 20], [-1, 0, 4]]
    assert (about["observation_size"], about["action_size"]) == (3, 3), "an angle is one number"


def test_the_seed_is_chosen(planned, folder):
    run, files = planned
    other = mvl.runtime.load(export_onnx(run, folder / "other.onnx", seed=1, plan="none")[0])
    state, goal = np.zeros(2), np.ones(2)
    assert np.allclose(other.act(state, goal), mvl.load_policy(run, seed=1).act(state, goal), atol=1e-6)
    assert not np.allclose(other.act(state, goal), mvl.runtime.load(files[0], plan="none").act(state, goal))
    with pytest.raises(UsageError, match="has seeds 0, 1, not 2"):
        export_onnx(run, folder / "none.onnx", seed=2)


def test_the_exported_steps_are_those_of_the_planner(planned):
    from mvl.runs.restore import restore

    run, files = planned
    _, learner, state = restore(run)
    steps = steps_function(learner, __import__("jax").tree.map(lambda leaf: leaf[0], state.params))
    follower = mvl.runtime.load(files[0])._follower
    states, goals = np.random.default_rng(0).normal(size=(2, 6, 2)).astype(np.float32)
    for pair in ((states[:, None], goals[None]), (states[:1, None], goals[None]), (states, goals)):
        assert np.allclose(follower.steps(*pair) * follower.map.unit, steps(*pair), rtol=1e-4, atol=1e-4)


def test_stablehlo_takes_rows_by_name(folder):
    from jax import export

    run = rover_run(folder / "hlo", "gcivl", history=2, chunk=3)
    file, about = export_stablehlo(run, folder / "hlo.stablehlo")
    described = json.loads(about.read_text())
    assert described["inputs"]["observation"] == {"size": 6, "subtract": [5e6, -2e6, 0, 5e6, -2e6, 0]}
    made = export.deserialize(bytearray(file.read_bytes()))
    given = {"observation": np.zeros((2, 6), np.float32), "goal": np.zeros((2, 3), np.float32), "key": np.zeros(2, np.uint32)}
    actions = np.asarray(made.call(given))
    assert actions.shape == (2, 3, 3)
    assert set(actions[..., 1].ravel().tolist()) <= {10.0, 20.0}
    assert made.platforms == ("cpu", "cuda")


def test_noise_of_the_run_is_given_by_name():
    import jax

    key = jax.random.key(3)
    found = noise({"value_noise": 4, "goal_noise": 4}, 2, key)
    assert found["value_noise"].shape == (2, 4)
    assert not np.allclose(found["value_noise"], found["goal_noise"])


def test_an_export_that_differs_is_not_kept(folder, monkeypatch):
    from mvl.deploy.export import policy

    run = walking_run(folder / "wrong", "bc")
    right = policy._clipped
    monkeypatch.setattr(policy, "_clipped", lambda network, x: network.add("Mul", right(network, x), network.constant(1.1)))
    with pytest.raises(MvlError, match="the exported actions differ by .* and nothing was written"):
        export_onnx(run, folder / "wrong.onnx")
    assert not list(folder.glob("wrong.*"))


def test_a_policy_that_is_not_finite_is_refused(folder):
    from mvl.learn import checkpoint
    from mvl.runs.restore import restore

    run = walking_run(folder / "nan", "bc")
    _, _, state = restore(run)
    output = state.params.policy.output._replace(bias=np.full((1, 2), np.nan, np.float32))
    params = state.params._replace(policy=state.params.policy._replace(output=output))
    checkpoint.save(run / "checkpoint.safetensors", state._replace(params=params), {"sizes": {}})
    with pytest.raises(MvlError, match="the run's actions are not finite"):
        export_onnx(run, folder / "nan.onnx")


def test_parts_of_ones_own_are_refused_with_the_way_out(folder, monkeypatch):
    from mvl.deploy.export import parts

    run = walking_run(folder / "own", "vip")
    unknown = parts.represented.dispatch(object)
    monkeypatch.setattr(parts, "represented", lambda part, *rest: unknown(part, *rest))
    with pytest.raises(UsageError, match="VIP cannot be written as ONNX; register it with .* or use --format stablehlo"):
        export_onnx(run, folder / "own.onnx")
    assert not list(folder.glob("own.*"))


def test_images_are_refused(folder, monkeypatch):
    from mvl.deploy.export import exporting

    description, *rest = exporting.restore(walking_run(folder / "seeing", "bc"))
    seeing = replace(description, shapes=description.shapes._replace(image=(2, 1, 1)))
    monkeypatch.setattr(exporting, "restore", lambda run: (seeing, *rest))
    with pytest.raises(UsageError, match=r"learned from images, which are not exported; act with mvl.load_policy instead"):
        export_onnx(folder / "seeing", folder / "seeing.onnx")


def test_the_command_writes_and_refuses(planned, tmp_path, monkeypatch, capsys):
    run, _ = planned
    monkeypatch.chdir(tmp_path)
    assert main(["export", str(run), "--plan", "graph"]) == 0
    names = ["policy.onnx", "policy.value.onnx", "policy.plan.npz"]
    assert [line.split(":")[0] for line in capsys.readouterr().out.splitlines()] == names
    assert main(["export", str(run)]) == 1
    assert "policy.onnx exists already; choose another name, or replace it with --overwrite." in capsys.readouterr().err
    assert main(["export", str(run), "--plan", "none", "--overwrite"]) == 0
    assert sorted(file.name for file in tmp_path.iterdir()) == ["policy.onnx", "policy.value.onnx"], "the old plan is gone"
    assert main(["export", str(run), "-o", "policy.bin"]) == 2
    assert "name it policy.onnx" in capsys.readouterr().err
    assert main(["export", str(run), "--format", "stablehlo", "--plan", "graph"]) == 2
    assert main(["export", str(run), "--format", "stablehlo"]) == 0
    assert Path("policy.json").exists()


def test_a_failed_write_leaves_no_half_of_an_export(planned, tmp_path, monkeypatch):
    from mvl.deploy.export import exporting

    run, _ = planned
    right, count = exporting._write, iter(range(3))

    def full(file, content):
        if next(count) == 1:
            raise OSError(28, "No space left on device", str(file))
        right(file, content)

    monkeypatch.setattr(exporting, "_write", full)
    with pytest.raises(OSError, match="No space left"):
        export_onnx(run, tmp_path / "policy.onnx", plan="graph")
    assert not (tmp_path / "policy.onnx").exists()


def test_what_is_missing_is_said_with_the_extra(planned, tmp_path, monkeypatch):
    run, files = planned
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    with pytest.raises(MvlError, match=r"policy.onnx needs onnxruntime; install with: pip install onnxruntime, or .*\[export\]'"):
        mvl.runtime.load(files[0].rename(tmp_path / "policy.onnx"))
    (tmp_path / "policy.onnx").rename(files[0])
    with pytest.raises(MvlError, match=r"mvl export needs onnxruntime; install with: pip install .*\[export\]'"):
        export_onnx(run, tmp_path / "again.onnx")


ALONE = """
import sys
sys.modules.update(dict.fromkeys(("jax", "jaxlib", "scipy", "onnx", "optax", "safetensors", "rich", "tyro")))
import numpy as np, mvl.runtime, mvl.planning.paths
assert not mvl.planning.paths.HAS_SCIPY
policy = mvl.runtime.load(sys.argv[1])
actions = [policy.act(np.array([0.1 * i, 0.0]), np.array([1.0, -1.5])).tolist() for i in range(3)]
print(actions, policy.reachable)
"""


def test_a_robot_computer_needs_numpy_and_onnxruntime_alone(planned):
    _, files = planned
    done = subprocess.run([sys.executable, "-c", ALONE, str(files[0])], capture_output=True, text=True, check=True)
    policy = mvl.runtime.load(files[0])
    actions = [policy.act(np.array([0.1 * i, 0.0]), np.array([1.0, -1.5])).tolist() for i in range(3)]
    assert done.stdout == f"{actions} {policy.reachable}\n"
    times = subprocess.run([sys.executable, "-X", "importtime", "-c", "import mvl.runtime"], capture_output=True, text=True)
    loaded = {line.split("|")[-1].strip().split(".")[0] for line in times.stderr.splitlines()}
    assert "mvl" in loaded
    assert not loaded & {"jax", "jaxlib", "scipy", "optax", "onnx", "tyro", "rich"}


def test_damage_and_other_versions_are_clear(planned, tmp_path):
    run, files = planned
    policy, value, plan = (tmp_path / file.name for file in files)
    whole = [file.read_bytes() for file in files]

    def written(*contents):
        for file, content in zip((policy, value, plan), contents, strict=True):
            file.write_bytes(content)
        return policy

    flipped = bytearray(whole[0])
    flipped[len(flipped) // 2] ^= 1
    for damaged in (whole[0][:-10], b"", b"nothing", onnx.load(files[0]).SerializeToString()[:-5]):
        with pytest.raises(DamagedError, match="planned.onnx: not a whole file of `mvl export`"):
            mvl.runtime.load(written(damaged, *whole[1:]))
    with pytest.raises(DamagedError, match="planned.onnx: its content has changed"):
        mvl.runtime.load(written(bytes(flipped), *whole[1:]))
    for damaged in (whole[2][:200], b"", bytes(whole[2][:300]) + b"x" + whole[2][301:]):
        with pytest.raises(DamagedError, match="planned.plan.npz: not a readable plan"):
            mvl.runtime.load(written(whole[0], whole[1], damaged))
    with pytest.raises(MvlError, match="planned.onnx: export format 2, but this mvl reads 1; export the run again"):
        mvl.runtime.load(written(of_format(files[0], 2), *whole[1:]))
    with pytest.raises(MvlError, match="cannot be run by onnxruntime"):
        mvl.runtime.load(written(mvl.runtime.sealed(b"no model"), *whole[1:]))
    with pytest.raises(UsageError, match=r"planned.value.onnx was exported with another policy; copy all files"):
        mvl.runtime.load(written(whole[0], export_onnx(run, tmp_path / "o.onnx", seed=1, plan="none")[1].read_bytes(), whole[2]))
    written(*whole)
    value.unlink()
    with pytest.raises(UsageError, match=r"planned.plan.npz needs .*planned.value.onnx, which is not there"):
        mvl.runtime.load(policy)
    assert mvl.runtime.load(policy, plan="none").act(np.zeros(2), np.ones(2)).shape == (2,)
    plan.unlink()
    with pytest.raises(UsageError, match=r"there is no .*planned.plan.npz; export the run with --plan graph"):
        mvl.runtime.load(policy, plan="graph")


def of_format(file, number):
    """The same file as a later version would write it."""
    model = onnx.load(file)
    about = json.loads(model.metadata_props[0].value) | {"format": number}
    del model.metadata_props[:]
    onnx.helper.set_model_props(model, {"mvl": json.dumps(about)})
    return mvl.runtime.sealed(model.SerializeToString())
