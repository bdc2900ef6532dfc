"""XML with line numbers, as MQSim writes it: tags and texts without attributes."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from xml.parsers import expat

from nandlab._native import ConfigError
from nandlab.importing.keys import Found


@dataclass
class Element:
    """A tag with its text and the elements in it."""

    tag: str
    line: int
    text: str = ""
    inner: list[Element] = field(default_factory=list)

    def all(self, tag: str) -> list[Element]:
        """The elements in it with this tag."""
        return [element for element in self.inner if element.tag == tag]

    def values(self, path: str) -> dict[str, Found]:
        """The texts of its innermost elements.

        Raises:
            ConfigError: A key stands there twice.

        """
        found: dict[str, Found] = {}
        for element in self.inner:
            if element.inner:
                continue
            place = f"{path}, line {element.line}"
            if element.tag in found:
                raise ConfigError(f"{place}: {element.tag} is there twice")
            found[element.tag] = Found(element.text.strip(), place)
        return found


def read_xml(path: str, root: str) -> Element:
    """The file's root element.

    Raises:
        OSError: The file cannot be read.
        ConfigError: It is cut, no XML, or has another root.

    """
    stack = [Element("", 0)]
    parser = expat.ParserCreate()

    def start(tag: str, _attributes: object) -> None:
        element = Element(tag, parser.CurrentLineNumber)
        stack[-1].inner.append(element)
        stack.append(element)

    def end(_tag: str) -> None:
        stack.pop()

    def text(part: str) -> None:
        stack[-1].text += part

    parser.StartElementHandler, parser.EndElementHandler, parser.CharacterDataHandler = start, end, text
    content = Path(path).read_bytes()
    try:
        parser.Parse(content, True)
    except expat.ExpatError as error:
        words = expat.ErrorString(error.code)
        is_cut = error.lineno >= content.rstrip().count(b"\n") + 1 and len(stack) > 1
        what = f"the file ends inside {stack[-1].tag}" if is_cut else f"this is no XML: {words}"
        raise ConfigError(f"{path}, line {error.lineno}: {what}") from None
    found = stack[0].inner[0]
    if found.tag != root:
        raise ConfigError(f"{path}, line {found.line}: expected {root}, found {found.tag}")
    return found
