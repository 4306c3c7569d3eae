"""`mvl recipes`: the recipes that can be trained, and their parts."""

from mvl.cli.parser import Parser


def run(argv: list[str]) -> None:
    Parser(prog="mvl recipes", description="List the recipes and the parts they are made of.").parse_all(argv)

    from mvl import registry
    from mvl.recipes import families
    from mvl.recipes.presets import PRESETS
    from mvl.recipes.recipe import Learning

    print("a recipe is FAMILY[-REPRESENTATION][-REGULARIZER]: gcivl-mvl, hiql-eik, crl-dual-mvl; on gcivl simply dual-mvl\n")
    print(f"{'family':<8}{'value':<16}{'policy':<20}representation")
    for name, family in families.FAMILIES.items():
        note = "  (a reconstruction)" if name in families.RECONSTRUCTIONS else ""
        print(f"{name:<8}{family.value:<16}{family.policy:<20}{family.representation}{note}")
    print(f"\nrepresentations  {', '.join(families.REPRESENTATIONS)}")
    endings = {suffix.lstrip("-"): name for suffix, name in families.REGULARIZERS.items() if suffix}
    print(f"regularizers     {', '.join(f'{short} ({name})' for short, name in endings.items())}")
    print(f"other names      {', '.join(f'{other} ({name})' for other, name in families.ALIASES.items())}")
    print("\nparts, each with what it does")
    for axis in registry.AXES:
        for name in registry.names(axis):
            about = (registry.part_class(axis, name).__doc__ or "").strip().splitlines()[0]
            print(f"  {axis:<16}{name:<20}{about}")
    print("\npresets")
    for name, preset in PRESETS.items():
        batch = preset.learning.get("batch_size", Learning.batch_size)
        print(f"  {name:<8}widths {preset.widths}, batch {batch}, {preset.schedule.steps} steps")
