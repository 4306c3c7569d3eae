"""`mvl eval`: success of a run's policy, by task and seed."""

from pathlib import Path

from mvl.cli.parser import Parser, add_own_code, count, import_own_code, not_negative, seed


def run(argv: list[str]) -> None:
    parser = Parser(prog="mvl eval", description="Evaluate a run's last checkpoint in its environment: success by task and seed.")
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
    parser.add_argument("--env", metavar="MODULE:FUNCTION", help="Gymnasium environment to play in (default: the run's own)")
    parser.add_argument(
        "--task", metavar="TASK", help="play in the environment of this task, for example a -disturbed one (default: the run's)"
    )
    add_own_code(parser)
    options = parser.parse_all(argv)
    import_own_code(options)

    import json

    from mvl.results.success import success_table
    from mvl.runs.display import counting
    from mvl.runs.evaluation import evaluate, evaluation_rows
    from mvl.runs.restore import restore

    description, _, state = restore(options.run)
    with counting("building the graph") as report:
        played = evaluate(
            options.run,
            episodes=options.episodes,
            temperature=options.temperature,
            seed=options.seed,
            workers=options.workers,
            env=options.env,
            task=options.task,
            plan=options.plan,
            execute=options.execute,
            report=report,
        )
    found = evaluation_rows(played, description.experiment.seeds, int(state.step[0]))
    print(json.dumps(found) if options.json else success_table({row["seed"]: row for row in found}, description.task.subtasks))
