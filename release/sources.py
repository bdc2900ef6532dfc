"""What a wheel is built from, and a hash over it: it tells whether a wheel in `dist` is of these sources."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]

BUILT_FROM = (
    "Cargo.lock",
    "Cargo.toml",
    "LICENSE-APACHE",
    "LICENSE-MIT",
    "README.md",
    "pyproject.toml",
    "crates",
    "memories",
    "papers",
    "profiles",
    "python/nandlab",
)
"""Files and folders. The examples are links in `python/nandlab`, and so they count."""

MARK = Path("python/nandlab/sources.sha256")
"""Where the hash stands in a wheel, and in the tree while one is built."""
MADE = (".so", ".pyc", ".pyd", MARK.suffix)
"""Endings of files that a build makes."""
MADE_FOLDER = Path("python/nandlab/firmware/lib")
"""A folder that a build makes: the library and the prover for firmware in C, which no wheel has."""


def source_hash(root: Path = ROOT) -> str:
    """The SHA-256 over names and contents, in hexadecimal digits."""
    whole = hashlib.sha256()
    for name in sorted(_files(root), key=Path.as_posix):
        contents = hashlib.sha256((root / name).read_bytes()).hexdigest()
        whole.update(f"{name.as_posix()} {contents}\n".encode())
    return whole.hexdigest()


def _files(root: Path) -> Iterator[Path]:
    for name in map(Path, BUILT_FROM):
        if (root / name).is_file():
            yield name
        for folder, _, files in os.walk(root / name, followlinks=True):
            inside = Path(folder).relative_to(root)
            if inside.is_relative_to(MADE_FOLDER):
                continue
            yield from (inside / file for file in files if not file.endswith(MADE))
