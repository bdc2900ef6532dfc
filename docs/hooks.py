"""Pages mkdocs builds beside this folder's own: reference pages from the compiled module's lists.

An FTL file's head comment becomes its page, with a table from its options schema. Project pages
above this folder get a page here, and links out of this folder become file names.
"""

from __future__ import annotations

import json
import posixpath
import re
from pathlib import Path
from typing import Any

import click
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

import nandlab
from nandlab import listing
from nandlab.cli import COMMANDS, group

ROOT = Path(__file__).parents[1]

ABOVE = {"architecture.md": "ARCHITECTURE.md", "extend.md": "CONTRIBUTING.md", "changelog.md": "CHANGELOG.md"}
"""Pages made from project files."""

NOTEBOOKS = {
    "docs/notebooks/trace-to-decision.ipynb": "notebook.md",
    "docs/notebooks/own-victim.ipynb": "own-victim.md",
}
"""Notebooks and the pages made from them."""

LISTS = {
    "ftls": ("FTLs", "ftl", "The table `[ftl.<name>]` chooses one."),
    "buffers": ("Write buffers", "buffer", "The table `[buffer.<name>]` puts one over the FTL."),
    "file-systems": ("File systems", "fs", "The table `[fs.<name>]` chooses one for a workload of files."),
    "indexes": ("Indexes", "index", "The table `[index.<name>]` chooses one for a workload of keys."),
    "workloads": ("Workloads", "workload", "The table `[workload.<name>]` chooses one."),
    "traces": (
        "Trace formats",
        "",
        "`workload.trace.format` forces one; otherwise it is told from the contents.",
    ),
    "devices": ("Device profiles", "", "`device.profile` names one, or a file of the same form."),
    "memories": (
        "Memories",
        "",
        "`memory.dram.profile` and `memory.nvram.profile` name one, or a file of the same form.",
    ),
    "victims": ("Victim policies", "", "Options of FTLs name one."),
}


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Adds the generated pages."""
    made = {f"reference/{kind}.md": _list_page(kind) for kind in LISTS}
    made |= {"reference/cli.md": _command_line(), "reference/experiment.md": _experiment()}
    made |= {page: (ROOT / source).read_text(encoding="utf-8") for page, source in ABOVE.items()}
    made |= {page: _notebook(ROOT / notebook) for notebook, page in NOTEBOOKS.items()}
    for path, text in made.items():
        files.append(File.generated(config, path, content=text))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Turns links to project files without a page into their names."""
    here = page.file.src_uri
    source = ABOVE.get(here, posixpath.join("docs", here))

    def replaced(found: re.Match[str]) -> str:
        text, target, anchor = found[1], found[2], found[3] or ""
        if re.match(r"[a-z]+:", target):
            return found[0]
        whole = posixpath.normpath(posixpath.join(posixpath.dirname(source), target))
        pages = {name: path for path, name in ABOVE.items()} | NOTEBOOKS
        inside = pages.get(whole, whole.removeprefix("docs/") if whole.startswith("docs/") else None)
        if inside is not None:
            return f"[{text}]({posixpath.relpath(inside, posixpath.dirname(here) or '.')}{anchor})"
        if not (ROOT / whole).exists():
            return found[0]
        return f"`{whole}`" if text.strip("`") == whole else f"{text} (`{whole}`)"

    return re.sub(r"(?<!!)\[([^\]]+)\]\(([^)#\s]+)(#[^)\s]*)?\)", replaced, markdown)


def _notebook(path: Path) -> str:
    """A notebook's cells as a page; the tests run them."""
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    parts = []
    for cell in cells:
        text = "".join(cell["source"])
        # The page stands a folder above the notebook.
        words = text.replace("](../", "](")
        parts.append(f"```python\n{text}\n```" if cell["cell_type"] == "code" else words)
    name = path.relative_to(ROOT)
    return "\n\n".join([*parts, f"The notebook is `{name}`; the tests run it."]) + "\n"


def _list_page(kind: str) -> str:
    title, table, words = LISTS[kind]
    entries = listing.lists()[kind.replace("-", "_")]
    parts = [f"# {title}\n\n{words}\n"]
    for entry in entries:
        parts += [f"## {entry['name']}\n", _description(entry)]
        options = listing.all_options(entry.get("options") or {})
        if options:
            where = f"[{table}.{entry['name']}]" if table else f"of {entry['name']}"
            parts.append(f"Options of `{where}`:\n\n{_options(options)}")
    return "\n".join(parts)


def _description(entry: dict[str, Any]) -> str:
    """The head comment, with its headings below the entry's own, or else the entry's other known facts."""
    doc = (entry.get("doc") or "").strip()
    if doc:
        # A name in angle brackets would be read as a tag.
        return re.sub(r"^(#+) ", r"##\1 ", _escaped(doc), flags=re.MULTILINE) + "\n"
    facts = [
        f"| {key.replace('_', ' ')} | {_escaped(str(value))} |"
        for key, value in entry.items()
        if key not in ("name", "options", "doc", "source")
        and isinstance(value, str | int | float)
        and value != ""
    ]
    return "| | |\n|---|---|\n" + "\n".join(facts) + "\n"


def _escaped(text: str) -> str:
    """A comment's text as Markdown: text in backticks stays, angle brackets elsewhere are no tags."""
    parts = re.split(r"(```.*?```|`[^`]*`)", text, flags=re.DOTALL)
    plain = [part if at % 2 else part.replace("<", "&lt;") for at, part in enumerate(parts)]
    # Rust links lead to items, and these have no page.
    return re.sub(r"\[(`[^`\]]+`)\](?!\()", r"\1", "".join(plain))


def _options(options: dict[str, dict[str, Any]]) -> str:
    rows = ["| option | type | default | meaning |", "|---|---|---|---|"]
    for name, spec in options.items():
        kind = re.sub(r"Literal\[([^]]*)\]", lambda found: found[1].replace(", ", " or "), spec["type"])
        default = "needed" if spec["required"] else _default(spec["default"])
        meaning = _escaped(spec["doc"]).replace("|", "\\|")
        rows.append(f"| `{name}` | {kind.replace('|', 'or')} | {default} | {meaning} |")
    return "\n".join(rows) + "\n"


def _default(value: object) -> str:
    known = isinstance(value, str | int | float | bool | list | dict)
    return f"`{json.dumps(value, ensure_ascii=False)}`" if known else ""


def _command_line() -> str:
    parts = [
        "# Command line\n",
        "Results go to stdout, as a table or with `--json` as one JSON document; progress and errors go to "
        "stderr. [Exit status](../outputs.md#exit-status) lists how a command ends.\n",
    ]
    with click.Context(group, info_name="nandlab") as above:
        for name in COMMANDS:
            command = group.get_command(above, name)
            if command is not None:
                parts += _help(command, f"nandlab {name}", above)
    return "\n".join(parts)


def _help(command: click.Command, name: str, above: click.Context) -> list[str]:
    context = click.Context(command, info_name=name.split(" ", 1)[1], parent=above, max_content_width=100)
    parts = [f"## {name}\n", f"```text\n{command.get_help(context)}\n```\n"]
    if isinstance(command, click.Group):
        for inner in command.list_commands(context):
            found = command.get_command(context, inner)
            if found is not None:
                own = click.Context(found, info_name=inner, parent=context, max_content_width=100)
                parts += [f"### {name} {inner}\n", f"```text\n{found.get_help(own)}\n```\n"]
    return parts


def _experiment() -> str:
    """The tables without a choice, and a whole experiment with every default."""
    parts = [
        "# An experiment\n",
        "An experiment is one TOML file, a JSON file with the same keys, or `nandlab.Experiment` in Python. "
        "An unknown key is refused with file, line and column. A number of bytes may have a unit, as in "
        '`"128 MiB"`. Relative paths start from the folder of the file. `--set a.b=c` changes any key.\n',
    ]
    for table in (nandlab.Device, nandlab.Memory, nandlab.Host, nandlab.Precondition):
        name = table.__name__.lower()
        summary, _, rest = (table.__doc__ or "").partition("\n\n")
        arguments = re.findall(
            r"^        (\w+): (.*?)(?=^        \w+: |^    \S|\Z)", rest, re.MULTILINE | re.DOTALL
        )
        rows = [f"| `{key}` | {' '.join(words.split('>>>')[0].split())} |" for key, words in arguments]
        parts.append(f"## [{name}]\n\n{summary}\n\n| key | meaning |\n|---|---|\n" + "\n".join(rows) + "\n")
    whole = nandlab.Experiment(workload=nandlab.workload.uniform(), ftl=nandlab.ftl.page())
    words = "As `nandlab check FILE` prints it."
    parts.append(f"## Every key with its default\n\n{words}\n\n```toml\n{whole.to_toml()}```\n")
    return "\n".join(parts)
