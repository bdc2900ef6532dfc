"""Papers by name or path, with their searches."""

from __future__ import annotations

import difflib
from dataclasses import replace
from pathlib import Path

from nandlab import reading
from nandlab._native import ConfigError, papers, searches
from nandlab.reproduce.paper import Paper, parse
from nandlab.reproduce.search_file import beside, parse_csv
from nandlab.reproduce.search_points import fingerprint


def bundled() -> list[str]:
    """Names of the papers bundled with nandlab."""
    return [name for name, _ in papers()]


def load(paper: str) -> Paper:
    """Reads a paper by a bundled name, or by a file's path.

    Raises:
        ConfigError: There is no such paper, or its file is wrong; with `file`, `line` and `key`.
        OSError: The file cannot be read.

    """
    texts = dict(papers())
    if paper in texts:
        found = parse(texts[paper], paper, f"papers/{paper}.toml")
        return _with_search(found, dict(searches()).get(paper), paper)
    path = Path(paper)
    if path.suffix != ".toml":
        near = difflib.get_close_matches(paper, texts, 1)
        hint = (
            f"did you mean {near[0]}?"
            if near
            else f"there are {', '.join(texts)}, or the path of a .toml file"
        )
        raise ConfigError(f"there is no paper {paper!r}; {hint}")
    try:
        found = parse(reading.text(path), path.stem, paper)
    except UnicodeDecodeError as error:
        raise ConfigError(f"{paper}: byte {error.start} is not UTF-8 text") from None
    except OSError as error:
        error.filename = paper
        raise
    kept = beside(path)
    return _with_search(found, kept.read_text(encoding="utf-8") if kept.is_file() else None, str(kept))


def _with_search(paper: Paper, text: str | None, file: str) -> Paper:
    """The paper with its search, if the search ran for the present file."""
    if text is None or not paper.varied:
        return paper
    found = parse_csv(text, file)
    return replace(paper, searched=found) if found.fingerprint == fingerprint(paper) else paper
