"""Tests for the recorder: from strace lines to requests, and the checker's refusals."""

# ruff: noqa: D102, E402 - a test's name says enough, and the recorder is no installed module

import gzip
import pathlib
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))

import record

FOLDER = "/scratch/database"
FIRST = record.EXTENT_SECTORS  # the first sector behind the superblock's extent


def requests_of(*calls: str) -> list[tuple]:
    """The requests from calls such as `pwrite64(3<DB>, ""..., 4096, 0) = 4096`, without their times."""
    converter = record.Converter(FOLDER)
    for number, call in enumerate(calls):
        call = call.replace("<DB>", f"<{FOLDER}/app.db>").replace("<J>", f"<{FOLDER}/app.db-journal>")
        converter.line(f"71 1000.{number:06d} {call}")
    return [tuple(request[1:]) for request in converter.trace.requests]


class ConverterTest(unittest.TestCase):
    """System calls become requests."""

    def test_ranges_are_rounded_out_to_sectors(self) -> None:
        self.assertEqual(requests_of('pread64(3<DB>, ""..., 16, 500) = 16'), [("R", FIRST, 2, "database")])

    def test_a_record_in_pieces_is_one_request(self) -> None:
        pieces = [(512, 0), (4, 512), (4096, 516), (4, 4612)]
        calls = [f'pwrite64(4<J>, ""..., {size}, {offset}) = {size}' for size, offset in pieces]
        self.assertEqual(requests_of(*calls), [("W", FIRST, 10, "journal")])

    def test_a_flush_ends_a_request(self) -> None:
        calls = [
            'pwrite64(4<J>, ""..., 512, 0) = 512',
            "fdatasync(4<J>) = 0",
            'pwrite64(4<J>, ""..., 12, 0) = 12',
        ]
        write = ("W", FIRST, 1, "journal")
        self.assertEqual(requests_of(*calls), [write, ("F", 0, 0, "journal"), write])

    def test_a_write_does_not_pass_a_read_of_its_file(self) -> None:
        calls = [
            'pwrite64(3<DB>, ""..., 4096, 0) = 4096',
            'pread64(3<DB>, ""..., 4096, 0) = 4096',
            'pwrite64(3<DB>, ""..., 4096, 4096) = 4096',
        ]
        expected = [("W", FIRST, 8), ("R", FIRST, 8), ("W", FIRST + 8, 8)]
        self.assertEqual([request[:3] for request in requests_of(*calls)], expected)

    def test_reading_a_sector_twice_is_two_requests(self) -> None:
        calls = ['pread64(3<DB>, ""..., 16, 24) = 16'] * 2
        self.assertEqual(len(requests_of(*calls)), 2)

    def test_requests_end_at_128_kib(self) -> None:
        calls = [f'pwrite64(3<DB>, ""..., 65536, {offset}) = 65536' for offset in range(0, 262_144, 65_536)]
        self.assertEqual([request[2] for request in requests_of(*calls)], [256, 256])

    def test_an_unlinked_file_is_trimmed_and_its_place_reused(self) -> None:
        calls = [
            'pwrite64(3<DB>, ""..., 4096, 0) = 4096',
            'pwrite64(4<J>, ""..., 512, 0) = 512',
            f'unlink("{FOLDER}/app.db-journal") = 0',
            'pwrite64(3<DB>, ""..., 4096, 65536) = 4096',
        ]
        journal = FIRST + 128
        self.assertEqual(
            requests_of(*calls)[1:],
            [("W", journal, 1, "journal"), ("T", journal, 128, "journal"), ("W", journal, 8, "database")],
        )

    def test_truncation_keeps_the_extent_of_the_new_end(self) -> None:
        calls = ['pwrite64(3<DB>, ""..., 200000, 0) = 200000', "ftruncate(3<DB>, 65537) = 0"]
        self.assertEqual(requests_of(*calls)[-1], ("T", FIRST + 256, 256, "database"))

    def test_duplicates_share_the_offset_that_lseek_sets(self) -> None:
        calls = [
            f'openat(AT_FDCWD</>, "{FOLDER}/app.db", O_RDWR|O_CREAT, 0644) = 3<DB>',
            "dup(3<DB>) = 7<DB>",
            "lseek(7<DB>, 8192, SEEK_SET) = 8192",
            'write(3<DB>, ""..., 1024) = 1024',
            'read(7<DB>, ""..., 512) = 512',
        ]
        expected = [("W", FIRST + 16, 2, "database"), ("R", FIRST + 18, 1, "database")]
        self.assertEqual(requests_of(*calls), expected)

    def test_failed_calls_and_other_files_leave_no_request(self) -> None:
        calls = [
            'pwrite64(3<DB>, ""..., 4096, 0) = -1 ENOSPC (No space left on device)',
            'pread64(3<DB>, "", 100, 0) = 0',
            f'pwrite64(5<{FOLDER}/app.db-shm>, ""..., 1, 4095) = 1',
            'read(6</etc/passwd>, ""..., 512) = 512',
        ]
        self.assertEqual(requests_of(*calls), [])

    def test_a_sync_of_the_folder_is_a_flush(self) -> None:
        self.assertEqual(requests_of(f"fdatasync(5<{FOLDER}>) = 0"), [("F", 0, 0, "journal")])

    def test_what_cannot_be_followed_is_refused(self) -> None:
        for call in (
            "mmap(NULL, 4096, PROT_READ, MAP_SHARED, 3<DB>, 0) = 0x7f0000000000",
            'read(3<DB>, ""..., 512) = 512',
            f'pwrite64(5<{FOLDER}/etilqs_1>, ""..., 4096, 0) = 4096',
            'pwrite64(3<DB>, ""..., 4096, 67108864) = 4096',
        ):
            with self.subTest(call), self.assertRaises(record.RecordError):
                requests_of(call)


class CheckTest(unittest.TestCase):
    """Traces are read back."""

    def check(self, *lines: str) -> record.Counts:
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "trace.csv.gz"
            path.write_bytes(gzip.compress("".join(line + "\n" for line in (record.HEADER, *lines)).encode()))
            return record.check(path)

    def test_counts(self) -> None:
        counts = self.check("0,W,128,9,wal", "5,F,0,0,wal", "5,R,136,2,wal", "9,T,128,8,wal", "9,R,128,1,wal")
        self.assertEqual((counts.requests, counts.written_bytes, counts.trimmed_bytes), (5, 4608, 4096))
        self.assertEqual((counts.footprint_pages, counts.highest_sector, counts.unwritten_reads), (2, 136, 2))

    def test_faults_name_their_line(self) -> None:
        for fault in (
            "1,X,128,8,wal",
            "1,W,128,8,swap",
            "1,W,128,0,wal",
            "1,W,0,8,wal",
            f"1,W,{record.DEVICE_SECTORS - 1},2,wal",
            "1,W,128,257,wal",
            "1,T,129,8,wal",
            "1,F,128,8,wal",
            "1,W,128,8",
        ):
            with self.subTest(fault), self.assertRaisesRegex(record.RecordError, "trace.csv.gz, line 3: "):
                self.check("0,W,128,8,wal", fault)
        with self.assertRaisesRegex(record.RecordError, "line 4: the time"):
            self.check("0,W,128,8,wal", "7,W,128,8,wal", "6,W,128,8,wal")
        with self.assertRaisesRegex(record.RecordError, "line 2: the time"):
            self.check("7,W,128,8,wal")

    def test_the_bundled_traces_are_valid(self) -> None:
        counts = [record.check(record.FOLDER / f"{name}.csv.gz") for name in record.TRACES]
        self.assertGreaterEqual(sum(count.requests for count in counts), 50_000)
        self.assertLess(sum(count.compressed_bytes for count in counts), 3_000_000)
        self.assertEqual([count.unwritten_reads for count in counts], [0, 0])


if __name__ == "__main__":
    unittest.main()
