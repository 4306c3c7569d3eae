"""`mvl recipes`: what can be trained, and what it is made of."""

from mvl.cli.parser import Parser


def run(argv: list[str]) -> None:
    Parser(prog="mvl recipes", description="List the recipes and the parts they are made of.").parse_all(argv)

    from mvl import registry
    from mvl.recipes.families import RECIPES
    from mvl.recipes.presets import PRESETS
    from mvl.recipes.recipe import Learning

    print(f"{'recipe':<14}{'representation':<16}{'regularizer':<14}{'value':<14}policy")
    for name, parts in RECIPES.items():
        print(f"{name:<14}{parts.representation:<16}{parts.regularizer:<14}{parts.value:<14}{parts.policy}")
    print("\nparts, each with what it does")
    for axis in registry.AXES:
        for name in registry.names(axis):
            about = (registry.part_class(axis, name).__doc__ or "").strip().splitlines()[0]
            print(f"  {axis:<16}{name:<20}{about}")
    print("\npresets")
    for name, preset in PRESETS.items():
        batch = preset.learning.get("batch_size", Learning.batch_size)
        print(f"  {name:<8}widths {preset.widths}, batch {batch}, {preset.schedule.steps} steps")
