"""Records PostMark's requests to a file system, as hashes for a test.

Usage: python3 record_postmark.py           run PostMark under strace and write recorded.json (Linux)
       python3 record_postmark.py --check   run it again and compare with recorded.json

Needs `postmark` (Debian: 1.53-2, it calls itself v1.51) and `strace`. The system calls on PostMark's
files, and its progress output, become one line each:

    mkdir s0 | rmdir s0 | create s0/1 | open s0/1 | close | unlink s0/1
    read 4096 283 | write 0 4096     position and bytes, read or written
    transactions | clean up          the transactions begin, and are over
    tenth                            a dot: the first transaction in another tenth is over

recorded.json has, for each set of options, the line count by kind, the text's FNV-1a hash (64 bits)
and its first lines. Seeks make no line: they show in the positions. Neither do transfers with 0 bytes;
without buffering, PostMark asks for one when a size is a multiple of the block.
"""

import argparse
import collections
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator

RECORDED = pathlib.Path(__file__).with_name("recorded.json")
FIRST_LINES = 40
CALLS = (
    "?open,openat,?creat,read,write,lseek,close,?unlink,unlinkat,?mkdir,mkdirat,?rmdir,?rename,renameat,"
    "?renameat2,truncate,ftruncate,pread64,pwrite64,readv,writev"
)
LINE = re.compile(r"(\w+)\((.*)\) += (-?\d+)(?: .*)?$")
PATH = re.compile(r'"([^"]*)"')
PROGRESS = {"Performing transactions": "transactions", "Deleting files": "clean up"}

# PostMark's command for each option; a size has two values.
COMMANDS = {
    "number": "number",
    "transactions": "transactions",
    "seed": "seed",
    "subdirectories": "subdirectories",
    "read_block": "read",
    "write_block": "write",
    "bias_read": "bias read",
    "bias_create": "bias create",
}
SMALL_TO_LARGE = {"size_low": 1, "size_high": 200000, "number": 30}
OPTIONS = [
    {},
    {"subdirectories": 10, "number": 200, "transactions": 2000, "seed": 7},
    {"subdirectories": 3, "bias_read": -1, "bias_create": 7, "transactions": 300, "buffered": False},
    {"bias_create": -1, "bias_read": 2, "transactions": 400, "seed": 1, "write_block": 1000},
    {"size_low": 512, "size_high": 512, "read_block": 300, "write_block": 100, "buffered": False, "seed": 99},
    {**SMALL_TO_LARGE, "read_block": 8192, "write_block": 5000, "subdirectories": 4},
    {**SMALL_TO_LARGE, "read_block": 5000, "write_block": 8192, "seed": 12345},
    {"size_low": 1, "size_high": 30000, "number": 50, "read_block": 4096, "write_block": 4096, "seed": 3},
    {"size_low": 1, "size_high": 30000, "number": 50, "read_block": 4096, "write_block": 20000, "seed": 4},
    {"number": 5, "transactions": 105, "bias_create": 9, "bias_read": 0, "subdirectories": 2, "seed": 5},
    {
        "number": 400,
        "transactions": 399,
        "bias_create": 0,
        "bias_read": 10,
        "subdirectories": 1,
        "buffered": False,
    },
    {"number": 20, "transactions": 25, "bias_create": -1, "bias_read": -1, "seed": 2147483647},
]


def commands(options: dict, folder: str) -> str:
    """PostMark's commands."""
    lines = [f"set location {folder}"]
    if "size_low" in options:
        lines.append(f"set size {options['size_low']} {options['size_high']}")
    lines += [f"set {command} {options[key]}" for key, command in COMMANDS.items() if key in options]
    lines.append(f"set buffering {str(options.get('buffered', True)).lower()}")
    return "\n".join([*lines, "run", "quit", ""])


class Converter:
    """One run's system calls become lines."""

    def __init__(self, folder: str) -> None:
        self.folder = folder + "/"
        self.sizes: dict[str, int] = {}
        self.files: dict[int, list] = {}  # path and position by descriptor

    def lines(self, calls: Iterable[str]) -> Iterator[str]:
        """The lines from strace's output."""
        for call in calls:
            if match := LINE.match(call):
                name, arguments, result = match[1], match[2], int(match[3])
                on_call = getattr(self, "on_" + name.removesuffix("at"), self.on_other)
                yield from on_call(name, arguments, result)

    def path(self, arguments: str) -> str | None:
        """The path inside the folder, as a call names it."""
        match = PATH.search(arguments)
        return match[1].removeprefix(self.folder) if match and match[1].startswith(self.folder) else None

    def on_open(self, _: str, arguments: str, result: int) -> Iterator[str]:
        """A file is created, or opened at its start or its end."""
        if (path := self.path(arguments)) is None:
            return
        assert result >= 0, arguments
        is_new = path not in self.sizes
        assert is_new or "O_TRUNC" not in arguments, f"{path} is cut"
        self.sizes.setdefault(path, 0)
        self.files[result] = [path, self.sizes[path] if "O_APPEND" in arguments else 0]
        yield f"{'create' if is_new else 'open'} {path}"

    def on_lseek(self, _: str, arguments: str, result: int) -> Iterator[str]:
        """The position moves."""
        if file := self.files.get(int(arguments.split(",")[0])):
            file[1] = result
        yield from ()

    def on_read(self, name: str, arguments: str, result: int) -> Iterator[str]:
        """Bytes are read or written, or progress is printed."""
        if file := self.files.get(int(arguments.split(",")[0])):
            path, at = file
            assert result >= 0, f"{name}({arguments})"
            file[1] = at + result
            if name == "write":
                self.sizes[path] = max(self.sizes[path], at + result)
            if result > 0:
                yield f"{name} {at} {result}"
        elif arguments.startswith("1,"):
            for text, line in PROGRESS.items():
                if text in arguments:
                    yield line
            if arguments.startswith('1, ".",'):
                yield "tenth"

    on_write = on_read

    def on_close(self, _: str, arguments: str, result: int) -> Iterator[str]:
        """A file is closed."""
        if self.files.pop(int(arguments), None):
            yield "close"

    def on_unlink(self, name: str, arguments: str, result: int) -> Iterator[str]:
        """A file is taken away; a directory is made or taken away."""
        if path := self.path(arguments):
            assert result == 0, arguments
            self.sizes.pop(path, None)
            yield f"{name.removesuffix('at')} {path}"

    on_mkdir = on_rmdir = on_unlink

    def on_other(self, name: str, arguments: str, _: int) -> Iterator[str]:
        """A call without a line must not be on the files."""
        descriptor = arguments.split(",")[0]
        is_open = descriptor.isdigit() and int(descriptor) in self.files
        assert self.path(arguments) is None and not is_open, f"{name}({arguments})"
        yield from ()


def fnv(text: str) -> str:
    """The 64-bit FNV-1a hash."""
    value = 0xCBF29CE484222325
    for byte in text.encode():
        value = (value ^ byte) * 0x100000001B3 % 2**64
    return f"{value:016x}"


def record(options: dict) -> dict:
    """Runs PostMark once."""
    with tempfile.TemporaryDirectory() as folder:
        trace, files = pathlib.Path(folder, "trace"), pathlib.Path(folder, "files")
        files.mkdir()
        command = ["strace", "-e", f"trace={CALLS}", "-s", "80", "-o", trace, "postmark"]
        told = commands(options, str(files))
        ran = subprocess.run(command, input=told, capture_output=True, text=True, check=True)
        wrong = [line for line in ran.stdout.splitlines() if "Error" in line]
        assert not wrong or all("no bias" in line for line in wrong), wrong
        lines = list(Converter(str(files)).lines(trace.read_text().splitlines()))
        assert not any(files.iterdir()), "files are left"
    kinds = collections.Counter(line.split()[0] for line in lines)
    text = "".join(line + "\n" for line in lines)
    counts = dict(sorted(kinds.items()))
    return {"options": options, "lines": counts, "fnv1a": fnv(text), "first": lines[:FIRST_LINES]}


def main() -> int:
    """Records, or compares."""
    plain = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=plain)
    parser.add_argument("--check", action="store_true", help="compare with recorded.json")
    arguments = parser.parse_args()
    for program in ("postmark", "strace"):
        if not shutil.which(program):
            print(f"{program} is not installed; in Debian: apt-get install postmark strace", file=sys.stderr)
            return 2
    document = {"program": "postmark 1.53-2 (Debian)", "runs": [record(options) for options in OPTIONS]}
    if arguments.check:
        is_same = json.loads(RECORDED.read_text()) == document
        print("PostMark does as recorded" if is_same else "PostMark does something else than was recorded")
        return 0 if is_same else 1
    RECORDED.write_text(json.dumps(document, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
