"""Runs the steps of the Dockerfile without docker: `python release/docker_steps.py`.

Each stage gets an empty folder in place of its root. COPY copies, RUN runs there, with the image's absolute
paths moved below that folder. `apt-get` is not run: its packages are looked up in this system's lists, if it
has them.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
FOLDERS = ("/wheels", "/nandlab", "/here")
"""The image's own folders."""


@dataclass
class Stage:
    """The instructions from one FROM to the next."""

    image: str
    name: str
    steps: list[tuple[str, str]] = field(default_factory=list)


def stages(text: str) -> list[Stage]:
    r"""The stages of a Dockerfile.

    >>> stages("FROM a AS b\nRUN c \\\n  && d\n")[0].steps
    [('RUN', 'c && d')]
    """
    lines = [line for line in text.splitlines() if line.strip() and not line.startswith("#")]
    whole = re.sub(r"\s*\\\n\s*", " ", "\n".join(lines))
    found: list[Stage] = []
    for line in whole.splitlines():
        word, _, rest = line.partition(" ")
        if word == "FROM":
            image, _, name = rest.partition(" AS ")
            found.append(Stage(image, name))
        else:
            found[-1].steps.append((word, rest))
    return found


def packages(command: str) -> list[str]:
    """The packages a RUN installs with apt-get."""
    found = re.search(r"apt-get install ([^&]*)", command)
    return [word for word in found[1].split() if not word.startswith("-")] if found else []


def unknown(names: list[str]) -> list[str]:
    """The packages that this system's lists lack; none where there are no lists."""
    if shutil.which("apt-cache") is None or not _known("make"):
        return []
    return [name for name in names if not _known(name)]


def _known(package: str) -> bool:
    return bool(subprocess.run(["apt-cache", "show", package], capture_output=True, check=False).stdout)


def ignored(text: str) -> list[str]:
    """The plain names in a .dockerignore."""
    return [line for line in text.splitlines() if line and not line.startswith(("#", "**/"))]


def _copy_tree(to: Path) -> None:
    left_out = {ROOT / name for name in ignored((ROOT / ".dockerignore").read_text(encoding="utf-8"))}

    def skip(folder: str, names: list[str]) -> list[str]:
        made = {name for name in names if name == "__pycache__" or name.endswith(".so")}
        return [name for name in names if Path(folder) / name in left_out or name in made]

    shutil.copytree(ROOT, to, symlinks=True, ignore=skip, dirs_exist_ok=True)


def run(text: str, at: Path) -> None:
    """Runs every stage below the folder `at`.

    Raises:
        SystemExit: A step failed.

    """
    roots: dict[str, Path] = {}
    for number, stage in enumerate(stages(text)):
        root = at / str(number)
        root.mkdir()
        roots[stage.name] = root
        place, env = root, dict(os.environ)
        if stage.image.startswith("python"):
            # In the image pip is the system's; here it is that of an environment of its own.
            subprocess.run([sys.executable, "-m", "venv", str(root / "venv")], check=True)
            env["PATH"] = f"{root / 'venv' / 'bin'}{os.pathsep}{env['PATH']}"
        for word, rest in stage.steps:
            print(f"{word} {rest}", flush=True)
            if word == "WORKDIR":
                place = root / rest.strip("/")
                place.mkdir(parents=True, exist_ok=True)
            elif word == "COPY" and rest == ". .":
                _copy_tree(place)
            elif word == "COPY":
                source, name, to = re.fullmatch(r"--from=(\w+) (\S+) (\S+)", rest).groups()  # type: ignore[union-attr]
                shutil.copytree(roots[source] / name.strip("/"), root / to.strip("/"))
            elif word == "RUN":
                _run(rest, root, place, env)


def _run(command: str, root: Path, place: Path, env: dict[str, str]) -> None:
    if missing := unknown(packages(command)):
        raise SystemExit(f"apt does not know {', '.join(missing)}")
    if "apt-get" in command:
        return
    for folder in FOLDERS:
        command = re.sub(rf"(?<!\S){folder}\b", str(root / folder.strip("/")), command)
    if subprocess.run(["sh", "-ec", command], cwd=place, env=env, check=False).returncode != 0:
        raise SystemExit(f"the step failed: {command}")


def main() -> None:
    """The command line."""
    with tempfile.TemporaryDirectory(prefix="nandlab-image-") as folder:
        run((ROOT / "Dockerfile").read_text(encoding="utf-8"), Path(folder))


if __name__ == "__main__":
    main()
