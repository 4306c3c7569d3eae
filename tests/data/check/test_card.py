"""The data card: names with units, numbers in the units of the source."""

import numpy as np

from mvl.data.check.card import card
from mvl.data.dataset import Dataset
from mvl.data.signals import Signal, Signals


def line(text, name):
    """The numbers of the line of a dimension."""
    (found,) = [row for row in text.splitlines() if row.startswith(name)]
    return found.removeprefix(name).split()


def dataset(width=1, **more):
    generator = np.random.default_rng(0)
    states = np.cumsum(generator.normal(size=(40, 1 + width)), axis=0)
    actions = np.column_stack([np.linspace(-1, 1, 40), np.arange(40) % 2])
    return Dataset.from_arrays(states, actions, np.arange(40) % 20 == 19, **more)


def test_numbers_are_in_the_units_of_the_source():
    signals = Signals(
        (Signal("x", ("x",), "m"), Signal("y", ("y",))),
        (Signal("turn", ("turn",), "deg"), Signal("g", ("g",), levels=(0, 0.5))),
        (),
        12.5,
    )
    limits = [[-90.0, -1.0], [30.0, 1.0]]
    data = dataset(signals=signals, origin=[5000.0, 0.0], action_range=limits)
    text = card(data)
    assert "rate          12.5 Hz" in text
    assert line(text, "turn (deg)")[:3] == ["-90", "30", "-30"]
    assert line(text, "g ") == ["one", "of", "0,", "0.5"]
    assert float(line(text, "x (m)")[0]) == float(f"{data.observations[:, 0].min() + 5000:.4g}")


def test_data_without_names_is_numbered():
    text = card(dataset())
    assert len(line(text, "observations_1")) == 5
    assert "rate" not in text


def test_many_dimensions_of_a_column_share_a_line():
    names = Signals((Signal("x", ("x",)), Signal("scan", tuple(f"scan_{i}" for i in range(150)))), dataset().signals or ())
    text = card(dataset(150, signals=names))
    assert "scan_0 ... scan_149" in text
    assert "scan_1 " not in text


def test_warnings_from_elsewhere_come_first():
    warnings = card(dataset(), more=["the clock is late"]).partition("looks wrong:")[2].splitlines()
    assert warnings[1] == "  ! the clock is late"
