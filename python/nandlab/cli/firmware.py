"""`nandlab firmware`: the header and the library for a firmware in C."""

from __future__ import annotations

import shlex

import click

from nandlab.cli.example import example


@example("nandlab firmware --cflags")
@click.command("firmware")
@click.option("--cflags", is_flag=True, help="Print the options for the compiler.")
@click.option("--libs", is_flag=True, help="Print the options for the linker.")
@click.option("--pkg-config", is_flag=True, help="Print the folder for PKG_CONFIG_PATH.")
@click.option("--cmake", is_flag=True, help="Print the folder for nandlab_DIR.")
def command(cflags: bool, libs: bool, pkg_config: bool, cmake: bool) -> None:
    """Print how a C compiler finds nandlab.h and libnandlab.

    A shared object for `nandlab prove` needs --cflags alone. The package of pkg-config is nandlab, the target
    of CMake nandlab::nandlab.
    """
    from nandlab.firmware import FOLDER

    folders = [FOLDER.with_name("pkgconfig")] * pkg_config + [FOLDER.with_name("cmake")] * cmake
    if len(folders) + (cflags or libs) > 1:
        raise click.UsageError("--pkg-config and --cmake print a folder: give one of them alone")
    words = []
    if cflags or not (libs or folders):
        words.append(f"-I{FOLDER / 'include'}")
    if libs or not (cflags or folders):
        words += [f"-L{FOLDER}", f"-Wl,-rpath,{FOLDER}", "-lnandlab"]
    click.echo(shlex.join(words) if words else str(folders[0]))
