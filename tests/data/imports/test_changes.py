"""What an import changes, and what travels with the data: from files to the dataset."""

import json
from dataclasses import replace

import numpy as np
import pytest
import recorded_arm as arm

from mvl.cli import main
from mvl.data.imports.changes import Changes
from mvl.data.imports.importing import import_data
from mvl.data.signals import Signal
from mvl.data.sources.episodes import ColumnNames
from mvl.data.sources.npz import GoalColumns, load, load_pair
from mvl.errors import DataError, MvlError, UsageError

JOINTS = ColumnNames(observations=("j*", "width"), actions=("d*",))


def write(folder, demonstrations, hz=30.0, jitter=0.0, columns=None):
    """A CSV file for each demonstration, with columns t, j0..j2, width, d0..d2, grip and further ones."""
    folder.mkdir(exist_ok=True)
    generator = np.random.default_rng(0)
    for index, (joints, width, deltas, command) in enumerate(demonstrations):
        steps = (1 + jitter * generator.uniform(-1, 1, len(joints))) / hz
        table = {"t": np.cumsum(steps), **{f"j{i}": joints[:, i] for i in range(3)}, "width": width[:, 0]}
        table |= {**{f"d{i}": deltas[:, i] for i in range(3)}, "grip": 0.08 * command[:, 0]}
        table |= {name: column(joints) for name, column in (columns or {}).items()}
        header, rows = ",".join(table), np.column_stack(list(table.values()))
        np.savetxt(folder / f"{index:02d}.csv", rows, delimiter=",", header=header, comments="", fmt="%.17g")
    return folder


@pytest.fixture
def demos(tmp_path):
    return write(tmp_path / "demos", arm.demonstrations(rows=60))


def imported(source, names=JOINTS, rescale=True, **changes):
    """The dataset of an import next to the source."""
    to = source.parent / "out.npz"
    done = import_data(source, to, columns=names, rescale=rescale, changes=Changes(**changes), overwrite=True)
    return replace(load(to), source=json.dumps(done.notes))


def original(data):
    """Actions in the units of the source, and observations."""
    low, high = (-1, 1) if data.action_range is None else data.action_range
    return low + (data.actions + 1) / 2 * (high - low)


def first(data):
    """Rows of the first episode."""
    return slice(0, data.ends[0] + 1)


def test_names_units_and_rate_are_in_the_file(demos):
    data = imported(demos, JOINTS._replace(time="t", goals=("width",)), units=(("j*", "rad"), ("width", "m")))
    assert data.signals.observations == (Signal("j", ("j0", "j1", "j2"), "rad"), Signal("width", ("width",), "m"))
    assert data.signals.goals == (Signal("width", ("width",), "m"),)
    assert data.signals.hz == 30
    assert imported(demos, hz=12.5).signals.hz == 12.5  # without time stamps it is taken as given


def test_units_of_a_part_of_a_column(demos):
    data = imported(demos, units=(("j1", "mm"),))
    assert [(signal.name, signal.labels, signal.unit) for signal in data.signals.observations[:3]] == [
        ("j", ("j0",), ""),
        ("j", ("j1",), "mm"),
        ("j", ("j2",), ""),
    ]


def test_columns_are_dropped(demos):
    data = imported(demos, drop=("j1", "d2"))
    assert [signal.labels for signal in data.signals.observations] == [("j0", "j2"), ("width",)]
    assert (data.observations.shape[1], data.actions.shape[1]) == (3, 2)


def test_a_gripper_is_found_and_kept_continuous_on_demand(demos):
    names = JOINTS._replace(actions=("d*", "grip"))
    data = imported(demos, names)
    assert data.signals.actions[1] == Signal("grip", ("grip",), levels=(0.0, 0.08))
    assert set(data.actions[:, 3]) == {0.0, 1.0}
    assert data.action_range[:, 3].tolist() == [-1, 1]
    kept = imported(demos, names, continuous=("grip",))
    assert kept.signals.actions[-1].levels == ()
    assert set(kept.actions[:, 3]) == {-1.0, 1.0}


def test_values_become_levels_on_demand(tmp_path):
    sign = {"way": lambda joints: np.sign(np.round(joints[:, 0]))}
    demos = write(tmp_path / "demos", arm.demonstrations(rows=60), columns=sign)
    names = JOINTS._replace(actions=("way", "d*"))
    assert imported(demos, names, discrete=("way",)).signals.actions[0].levels == (-1.0, 0.0, 1.0)
    assert imported(demos, names).signals.actions[0].levels == ()


def test_constant_actions_are_finite_and_come_back(tmp_path):
    demos = write(tmp_path / "demos", arm.demonstrations(rows=60), columns={"torque": lambda joints: np.full(len(joints), 40.0)})
    data = imported(demos, JOINTS._replace(actions=("d*", "torque")))
    assert not data.actions[:, 3].any()
    assert np.allclose(original(data)[:, 3], 40, atol=1e-3)


def test_every_third_row_with_summed_deltas(demos):
    whole, data = imported(demos), imported(demos, every=3, action_is="delta")
    assert np.allclose(data.observations[first(data)], whole.observations[first(whole)][::3])
    assert np.allclose(original(data)[0], original(whole)[:3].sum(axis=0), atol=1e-6)
    steps = np.diff(data.observations[first(data), :3], axis=0)
    assert np.allclose(steps, original(data)[first(data)][:-1], atol=1e-5)
    assert imported(demos, JOINTS._replace(time="t"), every=3, action_is="delta").signals.hz == 10


def test_a_steady_clock_from_an_unsteady_one(tmp_path):
    demos = write(tmp_path / "demos", arm.demonstrations(rows=60), jitter=0.9)
    names = JOINTS._replace(time="t")
    (note,) = json.loads(imported(demos, names).source)
    assert note.startswith("the time between rows varies (t: ")
    assert "take rows at a steady rate with --hz " in note
    data = imported(demos, names, hz=10, action_is="delta")
    assert data.signals.hz == 10
    assert json.loads(data.source) == []
    steps = np.diff(data.observations[first(data), :3], axis=0)
    assert np.allclose(steps, original(data)[first(data)][:-1], atol=1e-5)


def test_a_steady_clock_changes_nothing(demos):
    names = JOINTS._replace(time="t")
    assert np.array_equal(imported(demos, names, hz=30).observations, imported(demos, names).observations)


def test_time_stamps_in_other_units(tmp_path):
    demos = write(tmp_path / "demos", arm.demonstrations(rows=60), hz=0.03)  # stamps in milliseconds
    names = JOINTS._replace(time="t")
    data = imported(demos, names)
    assert data.signals.hz is None
    (note,) = json.loads(data.source)
    assert note.startswith("t advances by 33.3 from row to row, which are no seconds: say in which they are with --unit t=ms")
    assert imported(demos, names, units=(("t", "ms"),)).signals.hz == 30
    with pytest.raises(UsageError, match="t advances by 33.3 .*; say in which they are with --unit t=ms, us or ns"):
        imported(demos, names, hz=30)
    with pytest.raises(UsageError, match="--hz 60 is more than the 30 rows per second of the data; choose at most that"):
        imported(demos, names, hz=60, units=(("t", "ms"),))
    with pytest.raises(UsageError, match="no unit of time named 'days'"):
        imported(demos, names, units=(("t", "days"),))


def commands(joints):
    """Commanded positions: the next ones."""
    return np.append(joints[1:], joints[-1:])


NEXT = {f"p{i}": (lambda joints, i=i: commands(joints[:, i])) for i in range(3)}


def test_positions_become_deltas(tmp_path):
    demos = write(tmp_path / "demos", arm.demonstrations(rows=60), columns=NEXT)
    names = JOINTS._replace(actions=("p*", "grip"))
    data = imported(demos, names, deltas=True)
    assert data.signals.actions[0].labels == ("delta p0", "delta p1", "delta p2")
    assert data.signals.actions[1].levels == (0.0, 0.08)
    assert np.allclose(original(data)[:59, :3], np.diff(data.observations[:60, :3], axis=0), atol=1e-6)


def test_positions_of_every_third_row_become_deltas(tmp_path):
    demos = write(tmp_path / "demos", arm.demonstrations(rows=60), columns=NEXT)
    data = imported(demos, JOINTS._replace(actions=("p*",)), deltas=True, every=3)
    assert np.allclose(original(data)[:19], np.diff(data.observations[:20, :3], axis=0), atol=1e-6)


def test_deltas_need_positions(demos):
    with pytest.raises(UsageError, match="--deltas: no observation has the position of d0, d1, d2"):
        imported(demos, deltas=True)


def test_actions_are_made_from_positions(demos):
    data = imported(demos, ColumnNames(observations=("j*", "width")), actions_from=("j*",))
    assert data.signals.actions[0].labels == ("delta j0", "delta j1", "delta j2")
    assert np.allclose(original(data)[:59], np.diff(data.observations[:60, :3], axis=0), atol=1e-6)
    third = imported(demos, ColumnNames(observations=("j*", "width")), actions_from=("j*",), every=3)
    assert np.allclose(original(third)[:19], np.diff(third.observations[:20, :3], axis=0), atol=1e-6)


def test_angles_that_wrap(tmp_path):
    demos = write(tmp_path / "demos", arm.demonstrations(rows=60), columns={"yaw": lambda joints: (300 * joints[:, 0]) % 360})
    names = JOINTS._replace(observations=("j*", "yaw"))
    data = imported(demos, names, wrap=("yaw",), units=(("yaw", "deg"),))
    assert data.signals.observations[1] == Signal("yaw", ("sin yaw", "cos yaw"), "deg", period=360.0)
    angle = np.radians(300 * data.observations[:, 0])
    assert np.allclose(data.observations[:, 3:], np.column_stack([np.sin(angle), np.cos(angle)]), atol=1e-4)
    made = imported(demos, names._replace(actions=()), wrap=("yaw",), actions_from=("yaw",))
    assert np.abs(original(made)).max() < 20  # the shorter way around: at most 300 times the fastest step


def test_positions_far_from_zero_keep_their_steps(tmp_path):
    far = {"x": lambda joints: 5e6 + 0.35 * np.arange(len(joints))}
    demos = write(tmp_path / "demos", arm.demonstrations(rows=60), columns=far)
    data = imported(demos, JOINTS._replace(observations=("x",), goals=("x",)))
    assert np.allclose(data.observations + data.origin, 5e6 + 0.35 * np.tile(np.arange(60), 11)[:, None], atol=1e-4, rtol=0)
    assert data.goal_origin == data.origin
    assert load(demos.parent / "out-val.npz").origin == data.origin
    mapped = load(demos.parent / "out.npz", out_of_core=True)
    assert (mapped.origin, mapped.signals) == (data.origin, data.signals)


def test_goals_computed_from_far_positions_keep_their_steps(tmp_path):
    far = {"x": lambda joints: 5e6 + 0.35 * np.arange(len(joints))}
    imported(write(tmp_path / "demos", arm.demonstrations(rows=60), columns=far), JOINTS._replace(observations=("j0", "x")))
    data = load(tmp_path / "out.npz", GoalColumns(("observations",), lambda observations: observations[:, 1:] + 7))
    assert np.allclose((data.oracle + data.goal_origin)[:60, 0], 5e6 + 7 + 0.35 * np.arange(60), atol=1e-4, rtol=0)


def test_files_of_a_pair_must_fit_each_other(tmp_path):
    far = {"x": lambda joints: 5e6 + 0.35 * np.arange(len(joints))}
    names = JOINTS._replace(observations=("x",))
    imported(write(tmp_path / "demos", arm.demonstrations(rows=60), columns=far), names)
    other = {"x": lambda joints: 6e6 + 0.35 * np.arange(len(joints))}
    imported(write(tmp_path / "demos", arm.demonstrations(rows=60), columns=other), names)
    import_data(tmp_path / "out.npz", tmp_path / "b.npz", rescale=True)
    (tmp_path / "b-val.npz").unlink()
    (tmp_path / "out-val.npz").rename(tmp_path / "b-val.npz")
    far_again = np.load(tmp_path / "b.npz")
    np.savez(tmp_path / "b.npz", **{**far_again, "origin": far_again["origin"] + 5})
    with pytest.raises(DataError, match="differ in their origin, levels or range of actions; import them together"):
        load_pair(tmp_path / "b.npz")


@pytest.mark.parametrize("text", ["", "{}", "[", '{"hz": 0, "observations": [], "actions": [], "goals": []}', "[" * 100_000])
def test_names_that_cannot_be_read_are_refused(tmp_path, text):
    rows = np.random.default_rng(0).uniform(-1, 1, (20, 1))
    np.savez(tmp_path / "a.npz", observations=rows, actions=rows, terminals=np.arange(20) % 10 == 9, signals=np.array(text))
    for read in (load, lambda path: import_data(path, tmp_path / "b.npz")):
        with pytest.raises(DataError, match="a.npz: signals cannot be read"):
            read(tmp_path / "a.npz")


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        ({"drop": ("j9",)}, "no column for --drop named 'j9'; did you mean"),
        ({"drop": ("d*",)}, r"--drop d\* leaves no actions"),
        ({"wrap": ("d0",)}, "no column for --wrap named 'd0'"),
        ({"discrete": ("j0",)}, "no column for --discrete named 'j0'"),
        ({"units": (("x", "m"),)}, "no column for --unit named 'x'"),
        ({"every": 3}, "say with --action-is"),
        ({"every": 60, "action_is": "delta"}, "an episode of 60 rows keeps 1, but needs two"),
        ({"discrete": ("d0",)}, "--discrete d0 takes more than 32 values"),
    ],
)
def test_mending_that_cannot_be_done_is_refused_and_nothing_is_written(demos, flags, message):
    with pytest.raises(MvlError, match=message):
        imported(demos, **flags)
    assert [path.name for path in demos.parent.iterdir()] == ["demos"]


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        ({"action_is": "delta"}, "only needed with one of them"),
        ({"action_is": "torque", "every": 2}, "no kind of action named 'torque'"),
        ({"deltas": True, "actions_from": ("j*",)}, "give one of the two"),
        ({"every": 0}, "every must be a whole number of at least 1"),
        ({"hz": -1.0}, "hz must be a number above 0"),
    ],
)
def test_flags_that_contradict_each_other_are_refused(flags, message):
    with pytest.raises(UsageError, match=message):
        Changes(**flags)


def test_every_and_a_clock_are_refused_together(demos):
    with pytest.raises(UsageError, match="give one of the two"):
        imported(demos, JOINTS._replace(time="t"), every=2, hz=10, action_is="delta")


def test_data_that_training_would_refuse_is_not_written(tmp_path):
    repeated = [tuple(np.repeat(part, 3, axis=0) for part in parts) for parts in arm.demonstrations(rows=20)]
    demos = write(tmp_path / "demos", repeated)
    with pytest.raises(DataError, match="demos: more than half of the transitions do not move.*; import with --every 3"):
        imported(demos)
    assert [path.name for path in tmp_path.iterdir()] == ["demos"]
    assert len(imported(demos, every=3, action_is="position").observations) == 11 * 20


def test_an_episode_at_rest_may_be_held_out(tmp_path):
    demonstrations = arm.demonstrations(rows=60)
    joints, width, *rest = demonstrations[-1]
    still = (np.tile(joints[:1], (60, 1)), np.tile(width[:1], (60, 1)), *rest)
    assert len(imported(write(tmp_path / "demos", [*demonstrations[:-1], still])).ends) == 11


def test_an_imported_file_can_be_imported_again(tmp_path):
    """In the units of its source: with its origin, levels and range."""
    far = {"x": lambda joints: 5e6 + 0.35 * np.arange(len(joints)), "yaw": lambda joints: 100 * joints[:, 0]}
    demos = write(tmp_path / "demos", arm.demonstrations(rows=60), columns=far)
    names = ColumnNames(observations=("x", "yaw"), actions=("d*", "grip"), goals=("x",))
    once = imported(demos, names, wrap=("yaw",), units=(("x", "m"),))
    to = tmp_path / "again.npz"
    import_data(tmp_path / "out.npz", to, rescale=True)
    again = load(to)
    assert np.allclose(
        again.observations + again.origin, (once.observations + once.origin)[: len(again.observations)], rtol=0, atol=1e-4
    )
    assert np.allclose(original(again)[:, :3], original(once)[: len(again.actions), :3], atol=1e-6)
    assert again.signals.actions == once.signals.actions
    assert again.goal_origin == pytest.approx(5e6, abs=20)
    assert [signal.labels for signal in again.signals.observations] == [("x",), ("sin yaw", "cos yaw")]


def test_arrays_of_the_same_names_that_no_import_wrote_are_columns(tmp_path):
    rows = np.random.default_rng(0).normal(size=(40, 2))
    arrays = {"observations": rows, "actions": np.clip(rows, -1, 1), "terminals": np.arange(40) % 10 == 9}
    np.savez(tmp_path / "own.npz", **arrays, signals=rows, origin=rows)
    assert load(tmp_path / "own.npz").origin is None
    import_data(tmp_path / "own.npz", tmp_path / "out.npz", columns=ColumnNames(observations=("signals",)))
    assert np.allclose(load(tmp_path / "out.npz").observations, rows[:30], atol=1e-6)


def test_the_command(demos, tmp_path, capsys):
    named = ["--observations", "j*", "width", "--actions", "d*", "grip", "--time", "t", "--unit", "j*=rad", "width=m"]
    flags = [*named, "--every", "2", "--action-is", "delta", "--drop", "j2", "--rescale"]
    assert main(["data", "import", str(demos), "--to", str(tmp_path / "out.npz"), *flags]) == 0
    shown = capsys.readouterr().out
    assert "rate          15 Hz" in shown
    assert "j1 (rad)" in shown
    assert "j2 (rad)" not in shown
    assert "one of 0, 0.08" in shown
    assert main(["data", "check", str(tmp_path / "out.npz")]) == 0
    again = capsys.readouterr().out
    assert "width (m)" in again
    assert main(["data", "import", str(demos), "--to", str(tmp_path / "b.npz"), "--unit", "rad"]) == 2
    assert "must be a column and its unit, such as joint_*=rad" in capsys.readouterr().err
