"""`mvl doctor`: what this machine has."""

from mvl.cli.parser import Parser


def run(argv: list[str]) -> None:
    Parser(prog="mvl doctor", description="Show devices, versions and what rendering would use.").parse_all(argv)

    from mvl.runs.devices import report

    print(report())
