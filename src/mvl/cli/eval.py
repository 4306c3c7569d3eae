"""`mvl eval`: success of a run's policy, by task and seed; or held-out measures."""

from pathlib import Path

from mvl.cli.parser import Parser, add_env, add_own_code, count, import_own_code, not_negative, seed


def _parser() -> Parser:
    parser = Parser(
        prog="mvl eval",
        description="Evaluate a run's last checkpoint in its environment: success by task and seed. Without an environment: "
        "held-out measures.",
    )
    parser.add_argument("run", type=Path, metavar="RUN", help="run folder")
    parser.add_argument("--episodes", type=count, default=50, help="episodes per task (kitchens: in total)")
    parser.add_argument(
        "--temperature",
        type=not_negative,
        help="randomness of the policy; 0 takes the mean action (default: as in the evaluations of training)",
    )
    parser.add_argument("--seed", type=seed, default=0, help="seed of the episodes")
    parser.add_argument("--workers", type=count, help="simulation processes (default: one per core)")
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    parser.add_argument(
        "--plan", choices=("none", "graph"), help="planner that gives the policy its sub-goals (default: as in training)"
    )
    parser.add_argument(
        "--execute", choices=("open", "blended"), help="how chunks of actions are executed (default: as in training)"
    )
    add_env(parser, "Gymnasium environment to play in (default: the run's own)")
    parser.add_argument(
        "--task", metavar="TASK", help="play in the environment of this task, for example a -disturbed one (default: the run's)"
    )
    parser.add_argument(
        "--data", type=Path, metavar="FILE.npz", help="judge by held-out measures on these episodes; nothing is played"
    )
    add_own_code(parser)
    return parser


def run(argv: list[str]) -> None:
    options = _parser().parse_all(argv)
    import_own_code(options)

    import json

    from mvl.results.held_out import judged_table
    from mvl.results.success import success_table
    from mvl.runs.display import counting
    from mvl.runs.evaluation import evaluation_rows
    from mvl.runs.judging import Judged, evaluate
    from mvl.runs.restore import restore

    description, _, state = restore(options.run)
    playing = {name: getattr(options, name) for name in PLAYING}
    with counting("building the graph") as report:
        found = evaluate(options.run, env=options.env, data=options.data, report=report, **playing)
    if isinstance(found, Judged):
        judged = [{"step": found.step, "seed": seed, "measures": found.of(seed)} for seed in found.seeds]
        print(json.dumps(judged) if options.json else judged_table(found).text())
        return
    rows = evaluation_rows(found, description.experiment.seeds, int(state.step[0]))
    print(json.dumps(rows) if options.json else success_table({row["seed"]: row for row in rows}, description.task.subtasks))


PLAYING = ("episodes", "temperature", "seed", "workers", "goals", "task", "plan", "execute")
"""Options of playing in an environment."""
