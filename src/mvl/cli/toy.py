"""`mvl toy`: one obstacle, one goal: the exact distance, and what networks make of it."""

from pathlib import Path

from mvl.cli.parser import Parser, count, seed

ABOUT = """Find the distance to a goal behind one obstacle: by fast marching, with a network that keeps the mollified bound,
with one that is held to the pointwise Eikonal equation, and from transitions (TD).
Prints how far each is from the true distance: error is rms(D - d) / rms(d), shape error the same after the best common factor."""


def run(argv: list[str]) -> None:
    parser = Parser(prog="mvl toy", description=ABOUT)
    parser.add_argument("--to", type=Path, metavar="FILE", help="draw the fields here (.png or .svg)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write every figure here")
    parser.add_argument("--seed", type=seed, default=0, help="of the networks and what they see")
    parser.add_argument("--steps", type=count, default=1500, help="training steps of each network")
    parser.add_argument("--overwrite", action="store_true", help="replace files that exist")
    options = parser.parse_all(argv)
    if options.steps % 10:
        parser.error(f"argument --steps: must be a multiple of 10, not {options.steps}")

    from mvl.files import new_files
    from mvl.plots.drawing import new_picture
    from mvl.runs.display import counting
    from mvl.toy.figure import all_fields, draw, table

    picture, figures = options.to, options.json
    if picture:
        new_picture(picture, options.overwrite)
    new_files(filter(None, (picture, figures)), options.overwrite)
    with counting("training") as told:
        found = all_fields(options.seed, options.steps, told)
    print(table(found))
    if picture:
        draw(found, picture)
    if figures:
        _write({name: field.to_json() for name, field in found.items()}, figures)


def _write(figures: dict[str, dict[str, float]], to: Path) -> None:
    import json

    from mvl.files import atomic

    with atomic(to) as partial:
        partial.write_text(json.dumps(figures, indent=1) + "\n")
