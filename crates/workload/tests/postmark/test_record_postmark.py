"""Tests for the recorder: from strace lines to operation lines; and PostMark, if installed."""

# ruff: noqa: D102, E402 - a test's name says enough, and the recorder is no installed module

import json
import pathlib
import shutil
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))

import record_postmark

FOLDER = "/scratch/files"


def lines_of(*calls: str) -> list[str]:
    """The lines for calls such as `openat(AT_FDCWD, "F/1", O_RDONLY) = 3`, F being the folder."""
    converter = record_postmark.Converter(FOLDER)
    return list(converter.lines(call.replace('"F/', f'"{FOLDER}/') for call in calls))


class ConverterTest(unittest.TestCase):
    """System calls become lines."""

    create = 'openat(AT_FDCWD, "F/s0/1", O_WRONLY|O_CREAT|O_TRUNC, 0666) = 3'

    def test_positions_go_on_and_start_anew(self) -> None:
        self.assertEqual(
            lines_of(
                self.create,
                'write(3, "LeZe"..., 4096) = 4096',
                'write(3, "K,b"..., 636) = 636',
                "close(3) = 0",
                'openat(AT_FDCWD, "F/s0/1", O_RDONLY) = 3',
                'read(3, "LeZe"..., 8192) = 4732',
                "close(3)                                = 0",
            ),
            ["create s0/1", "write 0 4096", "write 4096 636", "close", "open s0/1", "read 0 4732", "close"],
        )

    def test_an_append_starts_at_the_end(self) -> None:
        for append in ("O_WRONLY|O_CREAT|O_APPEND, 0666", "O_RDWR|O_APPEND"):
            calls = [self.create, 'write(3, "Le", 2) = 2', "close(3) = 0"]
            calls += [f'openat(AT_FDCWD, "F/s0/1", {append}) = 4', 'write(4, "L", 1) = 1']
            self.assertEqual(lines_of(*calls)[3:], ["open s0/1", "write 2 1"])

    def test_a_seek_moves_the_position(self) -> None:
        calls = [self.create, "lseek(3, 7, SEEK_SET) = 7", 'write(3, "L", 1) = 1', 'write(3, "", 0) = 0']
        self.assertEqual(lines_of(*calls), ["create s0/1", "write 7 1"])

    def test_other_files_and_other_output_are_left_out(self) -> None:
        calls = [
            'openat(AT_FDCWD, "/etc/ld.so.cache", O_RDONLY|O_CLOEXEC) = 3',
            'read(3, "x", 1) = 1',
            "close(3) = 0",
        ]
        self.assertEqual(lines_of(*calls, 'write(1, "pm>", 3) = 3', 'read(0, "run", 4096) = 4'), [])

    def test_progress_makes_lines(self) -> None:
        calls = ['write(1, "Done\\nPerforming transactions", 28) = 28', 'write(1, ".", 1) = 1']
        calls += [
            'write(1, "Done\\nDeleting files...", 22) = 22',
            'mkdir("F/s0", 0700) = 0',
            'rmdir("F/s0") = 0',
        ]
        self.assertEqual(lines_of(*calls), ["transactions", "tenth", "clean up", "mkdir s0", "rmdir s0"])

    def test_what_it_does_not_know_is_not_passed_over(self) -> None:
        with self.assertRaises(AssertionError):
            lines_of(self.create, "ftruncate(3, 7) = 0")

    def test_the_hash_is_the_published_one(self) -> None:
        self.assertEqual(record_postmark.fnv("foobar"), "85944171f73967e8")


HAS_PROGRAMS = bool(shutil.which("postmark") and shutil.which("strace"))


@unittest.skipUnless(HAS_PROGRAMS, "postmark and strace are not installed")
class ProgramTest(unittest.TestCase):
    """The program still does the recorded work."""

    def test_the_first_two_runs_are_as_recorded(self) -> None:
        for run in json.loads(record_postmark.RECORDED.read_text())["runs"][:2]:
            self.assertEqual(record_postmark.record(run["options"]), run)


if __name__ == "__main__":
    unittest.main()
