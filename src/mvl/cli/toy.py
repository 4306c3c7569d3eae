"""`mvl toy`: exact and learned distances to a goal behind one obstacle; `mvl toy lights`: those of a puzzle."""

from pathlib import Path

from mvl.cli.parser import Parser, count, seed

ABOUT = """Compute the distance to a goal behind one obstacle: by fast marching, by a network trained with the mollified penalty,
by one trained with the pointwise Eikonal penalty, and by temporal differences on transitions (TD).
Prints the error of each distance D against the true d: error is rms(D - d) / rms(d), and shape error is the same after D was
multiplied by the constant that fits best. `mvl toy lights` is a puzzle: Lights-Out, learned from random play."""


def run(argv: list[str]) -> None:
    if argv[:1] == ["lights"]:
        from mvl.cli.toy_lights import run as lights

        return lights(argv[1:])
    parser = Parser(prog="mvl toy", description=ABOUT)
    parser.add_argument("--to", type=Path, metavar="FILE", help="draw the distances here (.png or .svg)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all numbers here")
    parser.add_argument("--seed", type=seed, default=0, help="seed of the networks and of their training points")
    parser.add_argument("--steps", type=count, default=1500, help="training steps of each network")
    parser.add_argument("--overwrite", action="store_true", help="replace files that exist")
    options = parser.parse_all(argv)
    if options.steps % 10:
        parser.error(f"argument --steps: must be a multiple of 10, not {options.steps}")

    from mvl.files import new_files, write_json
    from mvl.plots.drawing import new_picture
    from mvl.runs.display import counting
    from mvl.toy.figure import all_fields, draw, table

    picture, figures = options.to, options.json
    if picture:
        new_picture(picture, options.overwrite)
    new_files(filter(None, (picture, figures)), options.overwrite)
    with counting("training") as report:
        found = all_fields(options.seed, options.steps, report)
    print(table(found))
    if picture:
        draw(found, picture)
    if figures:
        write_json({name: field.to_json() for name, field in found.items()}, figures)
