"""`nandlab firmware`: the header and the library for a firmware in C."""

from __future__ import annotations

import shlex

import click


@click.command("firmware")
@click.option("--cflags", is_flag=True, help="Print the options for the compiler.")
@click.option("--libs", is_flag=True, help="Print the options for the linker.")
def command(cflags: bool, libs: bool) -> None:
    """Print where nandlab.h and libnandlab are, as options for a C compiler.

    A shared object for `nandlab prove` needs --cflags alone.
    """
    from nandlab.firmware import FOLDER

    words = []
    if cflags or not libs:
        words.append(f"-I{FOLDER / 'include'}")
    if libs or not cflags:
        words += [f"-L{FOLDER}", f"-Wl,-rpath,{FOLDER}", "-lnandlab"]
    click.echo(shlex.join(words))
