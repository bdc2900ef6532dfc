"""Options for commands that draw pictures into a folder."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import click

from nandlab.cli.options import folder_for_pictures
from nandlab.cli.output import say

if TYPE_CHECKING:
    from collections.abc import Mapping


class Plots(NamedTuple):
    """The folder for pictures, and their look."""

    folder: str
    form: Literal["svg", "png"]
    colours: Literal["light", "dark"]

    def write(self, pictures: Mapping[str, Any], inputs: list[Path]) -> None:
        """Draws them, and prints their paths."""
        from nandlab.report.plots import write_pictures

        taken = {path.resolve() for path in inputs}
        for name in pictures:
            if (Path(self.folder) / f"{name}.{self.form}").resolve() in taken:
                raise click.UsageError(f"--plots {self.folder} would overwrite what this run reads")
        if not pictures:
            say(f"pictures: none in {self.folder}: a real directory has no flash that could be drawn")
            return
        written = write_pictures(pictures, self.folder, self.form, self.colours)
        say(f"pictures: {len(written)} in {self.folder}: {', '.join(path.name for path in written)}")


def plots_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """The options `--plots`, `--plot-format` and `--plot-theme`; `plots_of` turns them into one value."""
    for option in (
        click.option("--plot-theme", type=click.Choice(["light", "dark"]), help="Colours of --plots."),
        click.option(
            "--plot-format", type=click.Choice(["svg", "png"]), help="Form of --plots; SVG by default."
        ),
        click.option(
            "--plots",
            metavar="DIR",
            callback=folder_for_pictures,
            help="Draw the pictures of the report into DIR.",
        ),
    ):
        function = option(function)
    return function


def plots_of(given: dict[str, Any]) -> Plots | None:
    """The values from `plots_options`; None without `--plots`."""
    folder, form, colours = (given[name] for name in ("plots", "plot_format", "plot_theme"))
    if folder is None:
        for name, value in (("--plot-format", form), ("--plot-theme", colours)):
            if value is not None:
                raise click.UsageError(f"{name} says how --plots draws, which is not there")
        return None
    return Plots(folder, form or "svg", colours or "light")
