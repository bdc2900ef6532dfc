"""Text in which every character can be seen. A terminal obeys some characters, and names come from others."""

from __future__ import annotations

import io

OBEYED = [*range(0x20), *range(0x7F, 0xA0)]
ESCAPES = {code: f"\\u{code:04x}" for code in OBEYED if chr(code) not in "\n\t"}
"""As JSON writes them, so a JSON document stays one."""


def visible(text: str) -> str:
    r"""The text with control characters as escapes; line ends and tabs stay.

    >>> visible("a\x1b[31m\n")
    'a\\u001b[31m\n'
    """
    return text if text.isprintable() else text.translate(ESCAPES)


class Visible(io.TextIOWrapper):
    r"""The standard stream `whole` for text that others wrote; `whole` itself is for what moves the cursor.

    >>> stream = Visible(io.TextIOWrapper(io.BytesIO(), "utf-8"))
    >>> stream.write("bell: \x07"), stream.flush(), stream.buffer.getvalue()
    (7, None, b'bell: \\u0007')
    """

    def __init__(self, whole: io.TextIOWrapper) -> None:
        # File names may be no UTF-8, and an output may take less than UTF-8.
        whole.reconfigure(errors="backslashreplace")
        super().__init__(whole.buffer, whole.encoding, whole.errors, line_buffering=whole.line_buffering)
        self.whole = whole

    def write(self, text: str) -> int:
        """Writes the text; returns how many characters were given."""
        super().write(visible(text))
        return len(text)
