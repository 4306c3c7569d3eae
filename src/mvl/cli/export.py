"""`mvl export`: write a run's policy as a file that runs without JAX."""

from pathlib import Path

from mvl.cli.parser import Parser, add_own_code, import_own_code, seed


def run(argv: list[str]) -> None:
    parser = Parser(
        prog="mvl export",
        description="Write a run's policy as ONNX: observation and goal in, actions out, in the units of the data; beside it "
        "FILE.value.onnx, if it has a value, and FILE.plan.npz, if it plans. `mvl.runtime.load(FILE)` acts as the run does.",
    )
    parser.add_argument("run", type=Path, metavar="RUN", help="run folder")
    parser.add_argument("-o", "--to", type=Path, metavar="FILE", help="file to write (default: policy.onnx or policy.stablehlo)")
    parser.add_argument(
        "--format", choices=("onnx", "stablehlo"), default="onnx", help="stablehlo, for programs with JAX, is the policy alone"
    )
    parser.add_argument("--seed", type=seed, help="which of the run's seeds to export (default: the first)")
    parser.add_argument(
        "--plan", choices=("none", "graph"), help="planner that gives the policy its sub-goals (default: as in training)"
    )
    parser.add_argument("--overwrite", action="store_true", help="replace the files if they exist")
    add_own_code(parser)
    options = parser.parse_all(argv)
    import_own_code(options)

    from mvl.errors import UsageError

    suffix = f".{options.format}"
    file = options.to or Path(f"policy{suffix}")
    if file.suffix != suffix:
        raise UsageError(f"{file} would be a file of {options.format}; name it {file.with_suffix(suffix)}.")
    if options.format == "stablehlo" and options.plan == "graph":
        raise UsageError("a planner needs files of onnx; leave out --plan, or --format.")

    from mvl.deploy.export.exporting import export_onnx, export_stablehlo

    if options.format == "onnx":
        files = export_onnx(options.run, file, options.seed, options.plan, options.overwrite)
    else:
        files = export_stablehlo(options.run, file, options.seed, options.overwrite)
    for one in files:
        print(f"{one}: {one.stat().st_size / 1e6:.2f} MB")
