"""XML with line numbers, as MQSim writes it: tags and texts without attributes."""

from __future__ import annotations

from dataclasses import dataclass, field
from xml.parsers import expat

from nandlab import reading
from nandlab._native import ConfigError
from nandlab.importing.keys import Found


@dataclass
class Element:
    """A tag with its text and the elements in it."""

    tag: str
    line: int
    texts: list[str] = field(default_factory=list)
    inner: list[Element] = field(default_factory=list)

    def all(self, tag: str) -> list[Element]:
        """The elements in it with this tag."""
        return [element for element in self.inner if element.tag == tag]

    def check(self, path: str, *parts: str) -> Element:
        """Itself, if nothing but these parts is in it.

        Raises:
            ConfigError: Another element is there.

        """
        for element in self.inner:
            if element.tag not in parts:
                raise ConfigError(
                    f"{path}, line {element.line}: {element.tag} has no place in {self.tag}; "
                    f"it has {', '.join(parts)}"
                )
        return self

    def values(self, path: str, *parts: str) -> dict[str, Found]:
        """The texts of its keys, all its elements but these parts.

        Raises:
            ConfigError: A key stands there twice, or has elements in it.

        """
        found: dict[str, Found] = {}
        for element in self.inner:
            if element.tag in parts:
                continue
            place = f"{path}, line {element.line}"
            if element.inner:
                raise ConfigError(f"{place}: {element.tag} has no place in {self.tag}")
            if element.tag in found:
                raise ConfigError(f"{place}: {element.tag} is there twice")
            found[element.tag] = Found("".join(element.texts).strip(), place)
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
        stack[-1].texts.append(part)

    def entity(name: str, *_: object) -> None:
        # A few of them can stand for more text than memory has.
        raise ConfigError(
            f"{path}, line {parser.CurrentLineNumber}: the entity {name} is no part of a configuration"
        )

    parser.EntityDeclHandler = entity
    parser.StartElementHandler, parser.EndElementHandler, parser.CharacterDataHandler = start, end, text
    # Files that MQSim ships have such closing tags; its own reader looks at no closing tag.
    content = reading.whole(path).replace(b"</<", b"</")
    try:
        parser.Parse(content, True)
    except expat.ExpatError as error:
        words = expat.ErrorString(error.code)
        is_cut = error.lineno >= content.rstrip().count(b"\n") + 1 and len(stack) > 1
        what = f"the file ends inside {stack[-1].tag}" if is_cut else f"this is no XML: {words}"
        if any(line.startswith(b"<<<<<<<") for line in content.split(b"\n")[error.lineno - 1 : error.lineno]):
            what = "git left both sides of a merge here, up to >>>>>>>; keep one of them"
        raise ConfigError(f"{path}, line {error.lineno}: {what}") from None
    except (LookupError, ValueError) as error:
        raise ConfigError(f"{path}, line 1: {error}; expected an encoding such as UTF-8") from None
    found = stack[0].inner[0]
    if found.tag != root:
        raise ConfigError(f"{path}, line {found.line}: expected {root}, found {found.tag}")
    return found
