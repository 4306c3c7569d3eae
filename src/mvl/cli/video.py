"""`mvl video`: film a run's policy."""

from pathlib import Path

from mvl.cli.parser import Parser, add_own_code, count, import_own_code, seed


def run(argv: list[str]) -> None:
    parser = Parser(prog="mvl video", description="Film a run's last checkpoint in its environment, one mp4 file per episode.")
    parser.add_argument("run", type=Path, metavar="RUN", help="run folder")
    parser.add_argument("--to", type=Path, metavar="FOLDER", help="folder of the videos (default: RUN/videos)")
    parser.add_argument("--tasks", type=count, nargs="+", metavar="N", help="only these tasks, counted from 1 (default: all)")
    parser.add_argument("--episodes", type=count, default=1, help="episodes per task")
    parser.add_argument("--seed", type=seed, default=0, help="seed of the episodes; `mvl eval` plays the same ones")
    parser.add_argument("--size", type=count, default=480, help="width and height in pixels")
    parser.add_argument("--overwrite", action="store_true", help="replace earlier videos of the same episodes")
    add_own_code(parser)
    options = parser.parse_all(argv)
    import_own_code(options)

    from mvl.files import writable_folder

    to = writable_folder(options.to or options.run / "videos")

    from mvl.runs.display import counting
    from mvl.runs.video import Shots, film, in_words

    shots = Shots(options.episodes, options.tasks, options.seed, options.size)
    with counting("filming") as report:
        clips = film(options.run, to, shots, report, options.overwrite)
    for clip in clips:
        print(f"{clip.path}: {in_words(clip.reached)} after {clip.steps} steps")
