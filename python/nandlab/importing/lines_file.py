"""Files with a key and its value on each line: flashsim's, and SimpleSSD's in sections."""

from __future__ import annotations

import re
from pathlib import Path

from nandlab import reading
from nandlab._native import ConfigError
from nandlab.importing.keys import Found


def is_there(path: str) -> bool:
    """Whether there is such a file; a drive's options may be longer than any name of a file."""
    try:
        return Path(path).is_file()
    except OSError:
        return False


def read_text(path: str) -> str:
    """The file's text, without a byte order mark.

    Raises:
        OSError: The file cannot be read.
        ConfigError: It is no text.

    """
    try:
        return reading.text(path, "utf-8-sig")
    except UnicodeDecodeError as error:
        raise ConfigError(f"{path}: byte {error.start} is not UTF-8 text") from None


def read_pairs(path: str) -> dict[str, Found]:
    """Lines `KEY value`; lines that begin with # are comments.

    Raises:
        OSError: The file cannot be read.
        ConfigError: A line is no such pair, or a key stands there twice.

    """
    found: dict[str, Found] = {}
    for number, line in enumerate(read_text(path).split("\n"), 1):
        if not line.strip() or line.startswith("#"):
            continue
        place = f"{path}, line {number}"
        parts = line.split()
        if len(parts) < 2:
            raise ConfigError(f"{place}: {parts[0]} has no value; is the file cut?")
        if parts[0] in found:
            raise ConfigError(f"{place}: {parts[0]} is there twice")
        found[parts[0]] = Found(parts[1], place)
    if not found:
        raise ConfigError(f"{path}: there is no key in this file")
    return found


def read_sections(path: str) -> dict[str, dict[str, Found]]:
    """Lines `key = value` below lines `[section]`; # and ; begin comments.

    Raises:
        OSError: The file cannot be read.
        ConfigError: A line is neither, or a key stands twice in its section.

    """
    sections: dict[str, dict[str, Found]] = {}
    section: dict[str, Found] | None = None
    for number, line in enumerate(read_text(path).split("\n"), 1):
        content = re.sub(r"(^|\s)[#;].*", "", line).strip()
        place = f"{path}, line {number}"
        if not content:
            continue
        if content.startswith("["):
            if not content.endswith("]"):
                raise ConfigError(f"{place}: {content} has no closing bracket; is the file cut?")
            section = sections.setdefault(content[1:-1].strip(), {})
            continue
        key, sign, value = (part.strip() for part in content.partition("="))
        if not sign or section is None:
            raise ConfigError(f"{place}: {content} is no key = value in a section; is the file cut?")
        if key in section:
            raise ConfigError(f"{place}: {key} is there twice")
        section[key] = Found(value.strip('"'), place)
    if not sections:
        raise ConfigError(f"{path}: there is no section in this file")
    return sections
