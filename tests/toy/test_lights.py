"""Lights-Out by hand and by breadth-first search; a training that takes a moment, and the command."""

import json
from collections import deque
from math import comb

import numpy as np
import pytest
from matplotlib.image import imread

from mvl.cli import main
from mvl.errors import UsageError
from mvl.toy.lights import learning
from mvl.toy.lights.board import Board, rank
from mvl.toy.lights.learning import Learned, puzzle
from mvl.toy.lights.play import as_dataset, play, random_play, views


@pytest.fixture(scope="module")
def board() -> Board:
    return Board(3, 3)


def test_what_buttons_do(board):
    """Bits are lights, row by row: the corner toggles three, an edge four, the middle five."""
    corner, edge, middle = (board.lights(board.presses[button]).reshape(3, 3).tolist() for button in (0, 5, 4))
    assert corner == [[1, 1, 0], [1, 0, 0], [0, 0, 0]]
    assert edge == [[0, 0, 1], [0, 1, 1], [0, 0, 1]]
    assert middle == [[0, 1, 0], [1, 1, 1], [0, 1, 0]]
    assert board.after(np.array([0b111], np.uint32), np.array([0])).tolist() == [0b001100]
    assert Board(2, 2).presses.tolist() == [0b0111, 0b1011, 0b1101, 0b1110]


def test_rank_over_two_elements():
    assert rank([0b01, 0b10, 0b11]) == 2
    assert rank([0b110, 0b011, 0b101]) == 2  # the third is the sum of the others, though over the reals it is not
    assert rank([0b110, 0b011, 0b111]) == 3
    assert rank([0, 0]) == 0


@pytest.mark.parametrize(("rows", "columns", "found", "share"), [(4, 4, 12, 16), (5, 5, 23, 4), (2, 3, 4, 4), (1, 2, 1, 2)])
def test_boards_that_cannot_all_be_solved_are_refused(rows, columns, found, share):
    with pytest.raises(UsageError, match=f"1 in {share} boards can be solved: its .* buttons have rank {found} over GF"):
        Board(rows, columns)


@pytest.mark.parametrize("size", [(3, 3), (4, 5), (4, 6)])
def test_the_paper_s_boards_have_full_rank(size):
    assert Board(*size).buttons == size[0] * size[1]


@pytest.mark.parametrize("size", [(3, 3), (2, 4), (1, 4)])
def test_distances_are_those_of_a_breadth_first_search(size):
    board = Board(*size)
    found, waiting = {0: 0}, deque([0])
    while waiting:
        here = waiting.popleft()
        for press in board.presses.tolist():
            if here ^ press not in found:
                found[here ^ press] = found[here] + 1
                waiting.append(here ^ press)
    assert board.distances.tolist() == [found[mask] for mask in range(2**board.buttons)]


def test_distances_by_hand(board):
    """Every set of buttons is the only way to its board: C(9, d) boards at distance d, and one at 9."""
    assert np.bincount(board.distances).tolist() == [comb(9, d) for d in range(10)]
    assert board.distances[0b000001011] == 1  # the corner's own lights
    assert board.distances[0b111111111] == 5  # all lights: the corners and the middle
    farthest = np.bitwise_xor.reduce(board.presses)
    assert board.distances[farthest] == 9
    assert board.lights(farthest).reshape(3, 3).tolist() == [[1, 0, 1], [0, 1, 0], [1, 0, 1]]  # where 3 or 5 buttons reach


def test_random_boards_at_a_distance(board):
    wanted = np.repeat(np.arange(10), 20)
    made = board.random_at(np.random.default_rng(0), wanted)
    assert board.distances[made].tolist() == wanted.tolist()
    assert len(set(made[wanted == 4].tolist())) > 10


def test_anchors_are_told_by_exact_distances(board):
    see = views(board, 64, np.random.default_rng(1))
    anchors = np.random.default_rng(1).integers(512, size=64, dtype=np.uint32)
    seen = see["anchors"](np.array([[0, 7]], np.uint32))
    assert seen.shape == (1, 2, 64)
    assert seen[0, 1].tolist() == board.distances[anchors ^ 7].tolist()
    assert see["lights"](np.array([5], np.uint32)).tolist() == [[1, 0, 1, 0, 0, 0, 0, 0, 0]]


def test_random_play_as_data(board):
    boards, buttons = random_play(board, 30, 7, np.random.default_rng(0))
    assert (boards.shape, buttons.shape) == ((30, 8), (30, 7))
    assert (board.after(boards[:, :-1], buttons) == boards[:, 1:]).all()
    assert len(np.unique(boards[:, 0])) > 25
    data = as_dataset(boards, buttons, board.lights, board.buttons)
    assert data.lengths.tolist() == [8] * 30
    assert (data.observations == board.lights(boards).reshape(-1, 9)).all()
    assert (data.actions.reshape(30, 8)[:, :-1] == buttons).all()
    assert data.signals.actions[0].levels == tuple(range(9))


def test_episodes_end_at_their_goals(board):
    """A policy that always presses the first button reaches what is one press away, and nothing else."""
    act = lambda observations, goals, numbers, time, over: np.zeros((*observations.shape[:-1], 1))
    starts = np.array([3, 3, 3], np.uint32)
    goals = np.array([3, 3 ^ board.presses[0], 3 ^ board.presses[1]], np.uint32)
    paths = play(act, board, board.lights, starts, goals, seeds=2)
    assert paths.shape == (10, 2, 3)
    assert ((paths[-1] == goals) == [True, True, False]).all()
    assert paths[:3, 1, 1].tolist() == [3, goals[1], goals[1]]


def test_evaluation_tasks(board):
    made = puzzle(board)
    assert made.tasks.tolist() == [2, 4, 5, 7, 9]
    starts, goals = made.episodes
    assert board.distances[starts ^ goals].tolist() == np.repeat([2, 4, 5, 7, 9], 15).tolist()
    counted = np.bincount(board.distances[made.pairs[0] ^ made.pairs[1]])
    assert len(counted) == 10
    assert counted.min() > 150
    again = puzzle(board)
    assert (made.boards == again.boards).all()
    assert (made.views["anchors"](starts) == again.views["anchors"](starts)).all()


@pytest.fixture(scope="module")
def command(tmp_path_factory):
    """The folder and the words of the command, on a board so small that anchors need 300 steps."""
    small = {**learning.SETTINGS, "value.widths": (32,), "batch_size": 128, "learning_rate": 1e-2}
    folder = tmp_path_factory.mktemp("lights")
    words = ["toy", "lights", "--board", "1x4", "--seeds", "2", "--steps", "300"]
    words += ["--to", str(folder / "lights.png"), "--json", str(folder / "lights.json")]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(learning, "EPISODES", 200)
        patch.setattr(learning, "SETTINGS", small)
        assert main(words) == 0
    return folder, words


def test_the_command(command, capsys):
    folder, words = command
    written = json.loads((folder / "lights.json").read_text())
    assert (written["board"], written["steps"], written["distances"]) == ("1x4", 300, [1, 2, 3, 4])
    success = {view: np.array(written[view]["success"]) for view in ("anchors", "lights")}
    assert success["anchors"].shape == success["lights"].shape == (2, 4)
    assert success["anchors"].mean() > 0.9 > success["lights"].mean()
    assert min(written["anchors"]["rank_correlation"]) > 0.85 > np.mean(written["lights"]["rank_correlation"])
    assert imread(folder / "lights.png").shape[1] > 900
    assert main(words) == 1
    assert "exists already" in capsys.readouterr().err


def outcome(made, rate: float) -> Learned:
    """Success at this rate of every task; values that fall with the distance."""
    exact = made.board.distances[made.pairs[0] ^ made.pairs[1]]
    boards = np.repeat(made.episodes[0][None], made.board.buttons + 1, axis=0)[:, None].repeat(2, axis=1)
    return Learned(np.full((2, 3), rate), np.array([0.5, 0.7]), -np.stack([exact, exact + 1.0]), boards)


def test_what_is_printed_and_drawn_without_success(tmp_path):
    from mvl.toy.lights.figure import draw, table

    made = puzzle(Board(1, 3))
    found = {"anchors": outcome(made, 1.0), "lights": outcome(made, 0.0)}
    lines = table(made, found).text().splitlines()
    assert lines[0] == "Lights-Out, 1x3, 3 presses at most between two boards"
    assert lines[2].split() == ["anchors", "1.00", "[1.00,", "1.00]", "1.00", "1.00", "1.00", "0.60", "[-0.67,", "1.00]"]
    assert lines[3].startswith("lights   0.00 [0.00, 0.00]")
    draw(made, found, tmp_path / "none.svg")
    assert "the goal (framed) is not reached" in (tmp_path / "none.svg").read_text()


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["--board", "4x4"], "have rank 12 over GF(2); choose a size of full rank, such as 3x3"),
        (["--board", "9x9"], "a board must have 2 to 25 buttons; 9x9 has 81"),
        (["--board", "3"], "must be rows and columns such as 4x5, not '3'"),
        (["--board", "0x3"], "must be rows and columns"),
        (["--steps", "150"], "must be a multiple of 100, not 150"),
        (["--to", "lights.jpg"], "ends in .png or .svg"),
    ],
)
def test_wrong_commands(capsys, args, message):
    assert main(["toy", "lights", *args]) == 2
    err = capsys.readouterr().err
    assert message in err
    assert len(err.splitlines()) == 1
