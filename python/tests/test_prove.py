"""`nandlab prove` and `nandlab firmware` as a user calls them, on the toy firmware."""

import os
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest
from conftest import call as command

import nandlab

TOY = Path(__file__).parents[2] / "examples/firmware/toy/toy.c"


def built(folder, define="SOUND", source=TOY):
    """The toy, or another source, as a shared object, with the options that the command tells."""
    flags = shlex.split(command("firmware", "--cflags").out)
    to = folder / f"{define}.so"
    subprocess.run(["cc", "-O1", "-shared", "-fPIC", f"-D{define}", *flags, "-o", to, source], check=True)
    return to


def test_a_sound_firmware_has_no_findings(tmp_path):
    done = command("prove", built(tmp_path), "--scripts", 3, "--json")
    report = done.document
    assert (done.status, report["findings"], report["name"]) == (0, [], "toy")
    assert report["cases"] > 300
    done = command("prove", tmp_path / "SOUND.so", "--script", "w1 w2 s", "--device", "k9f5608")
    assert done.status == 0
    assert "no findings" in done.out


def test_a_fault_is_printed_with_a_text_that_replays_it(tmp_path):
    toy = built(tmp_path, "TRUSTS_SPARE")
    done = command("prove", toy, "--scripts", 1, "--json")
    (found,) = done.document["findings"]
    assert (done.status, found["kind"], found["replay"]) == (1, "unreadable", "w0 cut:2:torn_page")
    again = command("prove", toy, "--replay", found["replay"])
    assert again.status == 1
    assert "the read of sector 0 failed" in again.out


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["--script", "w1 cut:1:clean"], "a script has no cut"),
        (["--replay", "w1"], "a case has a cut"),
        (["--replay", "w1 cut:1:clean", "--script", "w1"], "give one of them"),
        (["--script", "hello"], "is no step"),
        (["--form", "half"], "form half is none of"),
        (["--device", "none"], "none"),
        (["--device", "k9f5608", "--nor", "w25q128"], "give one of them"),
        (["--nor", "w25q128", "--faults"], "faults are for NAND"),
    ],
)
def test_wrong_input_is_told(tmp_path, options, sentence):
    done = command("prove", built(tmp_path), *options)
    assert done.status == 2
    assert sentence in done.err


def test_the_chips_of_data_sheets_open_with_their_times(tmp_path):
    source = tmp_path / "times.c"
    source.write_text(
        '#include <stdlib.h>\n#include "nandlab.h"\n'
        "static void *mount(nl_device *d, char *why, size_t n)"
        "{ unsigned char b[8] = {0}; (void)why, (void)n;"
        " nl_nor_program(d, 0, 8, b); nl_erase(d, 0); if (nl_time_ns(d) != NS) abort(); return d; }\n"
        "static unsigned s(void *f) { (void)f; return 16; }\n"
        "static int r(void *f, unsigned n, void *to) { (void)f, (void)n, (void)to; return 1; }\n"
        "static int w(void *f, unsigned n, const void *b) { (void)f, (void)n, (void)b; return 0; }\n"
        "static int y(void *f) { (void)f; return 0; }\n"
        "const nl_block_firmware nl_block ="
        ' {sizeof nl_block, 0, "times", mount, 0, s, s, r, w, 0, y, 0, 0};\n'
    )
    flags = shlex.split(command("firmware", "--cflags").out)
    for chip, nanoseconds in [
        ("w25q128", 30_000 + 7 * 1_450 + 8 * 160 + 45_000_000),
        ("stm32l476", 81_690 + 8 * 8 + 22_020_000),
    ]:
        firmware = tmp_path / f"{chip}.so"
        subprocess.run(
            ["cc", "-shared", "-fPIC", f"-DNS={nanoseconds}", *flags, "-o", firmware, source], check=True
        )
        done = command("prove", firmware, "--nor", chip, "--script", "s", "--form", "lost_tail", "--json")
        (found,) = done.document["findings"]
        # The read fails as it must. A wrong time would be a crash in the mount.
        assert (found["kind"], found["steps"]) == ("unreadable", 0)
        # Four forms of a cut program and four of a cut erase: the weak ones are left out.
        done = command("prove", firmware, "--nor", chip, "--script", "s", "--json")
        assert done.document["cases"] == 8


def test_a_program_links_the_library(tmp_path):
    source = tmp_path / "program.c"
    source.write_text(PROGRAM)
    flags = shlex.split(command("firmware").out)
    subprocess.run(["cc", source, *flags, "-o", tmp_path / "program"], check=True)
    subprocess.run([tmp_path / "program"], check=True)


EARLY = (
    "w0 t1 w2 w3 w4 t5 w6 w7 w8 w9 w6 w10 w11 w12 w3 w10 w13 m t0 w14 w8 w6 w3 t15 w8 w10 w8 w16 w17 "
    "t2 t8 w18 w19 w8 w6 w8 w0 w10 w3 w20 w8 w6 w10 w21 w22 t8 w23 w3 w7 w24 w4 m t8 w8 w8 s w16 w22 "
    "w0 w25 w26 w10 w11 w22 w27 t28 w0 w29 t24 w30 m w17 t10 w31 w8 w8 w3 w0 w8 w32 m w3 w25 "
    "cut:92:torn_erase.unreadable"
)
"""Writes until a block is collected, and a cut in its erase."""

FILES = Path(__file__).parents[2] / "crates/firmware/tests/c/files.c"
FILE_SCRIPT = (
    "put:a:200 put:b:90 s move:a:c append:b:20 mkdir:d m put:d/a:50 move:b:d/b truncate:c:7 remove:c s"
)


def replayed(case, *firmware):
    """The status and the words of a case, built with all warnings and run."""
    flags = shlex.split(command("firmware").out)
    strict = [
        "-std=c99",
        "-Wall",
        "-Wextra",
        "-Werror",
        "-g",
        "-fsanitize=undefined",
        "-fno-sanitize-recover",
    ]
    to = case.with_suffix("")
    subprocess.run(["cc", *strict, case, *flags, "-ldl", "-o", to], check=True)
    done = subprocess.run([to, *firmware], check=False, capture_output=True, text=True, errors="replace")
    return done.returncode, done.stdout.strip()


@pytest.mark.parametrize(
    ("define", "options"),
    [
        ("TRUSTS_SPARE", ["--scripts", 1]),
        ("FILLS_ON", ["--scripts", 1]),
        ("SKIPS_ERASE", ["--scripts", 1]),
        ("ERASES_EARLY", ["--replay", EARLY]),
        # The second cut hits the first write after the mount.
        ("TRUSTS_SPARE", ["--replay", "w0 s cut:1:clean cut:2:torn_page"]),
        ("TRUSTS_SPARE", ["--replay", "bad:3 fail_program:1 w0 w1 s w2 w3 cut:7:torn_page"]),
    ],
)
def test_a_case_in_c_finds_the_same(tmp_path, define, options):
    case = tmp_path / "case.c"
    done = command("prove", built(tmp_path, define), *options, "--c", case, "--json")
    (found,) = done.document["findings"]
    assert (done.status, done.document["files"]) == (1, False)
    assert replayed(case) == (1, found["sentence"])
    assert replayed(case, built(tmp_path)) == (0, "no finding")


@pytest.mark.parametrize("define", ["NO_CHECK", "LATE_NAMES"])
def test_a_case_of_a_file_firmware_finds_the_same(tmp_path, define):
    flags = shlex.split(command("firmware", "--cflags").out)
    for one in (define, "SOUND"):
        to = tmp_path / f"{one}.so"
        subprocess.run(["cc", "-shared", "-fPIC", f"-D{one}", *flags, "-o", to, FILES], check=True)
    case = tmp_path / "case.c"
    chip = ["--device", "k9k4g", "--blocks", 8]
    done = command("prove", tmp_path / f"{define}.so", *chip, "--script", FILE_SCRIPT, "--c", case, "--json")
    # A name of garbage may be another one in each process, and so a finding of its own.
    found = done.document["findings"][0]
    assert (done.status, done.document["files"]) == (1, True)
    status, words = replayed(case)
    # A name of garbage is cut off where the program's room for it ends.
    start = min(len(found["sentence"]), len("a list has the name"))
    assert (status, words[:start]) == (1, found["sentence"][:start])
    assert define == "NO_CHECK" or words == found["sentence"]
    assert replayed(case, tmp_path / "SOUND.so") == (0, "no finding")


def test_a_report_has_the_findings_and_no_case_is_written_without_one(tmp_path):
    toy = built(tmp_path, "TRUSTS_SPARE")
    page, case = tmp_path / "page.html", tmp_path / "case.c"
    assert command("prove", toy, "--scripts", 1, "--report", page).status == 1
    text = page.read_text()
    for words in ("toy: 1 finding", "the read of sector 0 failed", "w0 cut:2:torn_page", "drawn from seed 1"):
        assert words in text
    done = command("prove", built(tmp_path), "--script", "w1 s", "--report", page, "--c", case)
    assert (done.status, case.exists()) == (0, False)
    assert "there is no finding" in done.err
    assert "toy: 0 findings" in page.read_text()
    done = command("prove", toy, "--c", toy)
    assert (done.status, "would overwrite what this run reads" in done.err) == (2, True)
    done = command("prove", toy, "--scripts", 1, "--c", tmp_path / "none" / "case.c")
    assert done.status == 2
    assert "there is no folder" in done.err


PROGRAM = (
    '#include "nandlab.h"\nint main(void) { nl_config c; nl_default_config(&c); '
    "nl_device *d = nl_open(&c, 0, 0); int r = nl_erase(d, 0); nl_close(d); return r; }\n"
)


# What we ship is read by these two programs, so without one there is nothing to test; .ci/run installs both.
@pytest.mark.skipif(not shutil.which("pkg-config"), reason="pkg-config is not installed")
def test_pkg_config_builds_a_program(tmp_path):
    (tmp_path / "program.c").write_text(PROGRAM)
    folder = command("firmware", "--pkg-config").out.strip()
    asked = {**os.environ, "PKG_CONFIG_PATH": folder}

    def answer(*options):
        done = subprocess.run(
            ["pkg-config", *options, "nandlab"], env=asked, check=True, capture_output=True, text=True
        )
        return done.stdout.split()

    assert answer("--modversion") == [nandlab.__version__]
    program = tmp_path / "program"
    subprocess.run(["cc", tmp_path / "program.c", *answer("--cflags", "--libs"), "-o", program], check=True)
    subprocess.run([program], check=True)


# The same.
@pytest.mark.skipif(not shutil.which("cmake"), reason="cmake is not installed")
def test_cmake_builds_a_program_and_a_firmware(tmp_path):
    (tmp_path / "program.c").write_text(PROGRAM)
    (tmp_path / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.13)\nproject(one C)\nfind_package(nandlab CONFIG REQUIRED)\n"
        "add_executable(program program.c)\ntarget_link_libraries(program PRIVATE nandlab::nandlab)\n"
        f"add_library(toy MODULE {TOY})\ntarget_link_libraries(toy PRIVATE nandlab::header)\n"
    )
    folder = command("firmware", "--cmake").out.strip()
    build = tmp_path / "build"
    subprocess.run(
        ["cmake", f"-Dnandlab_DIR={folder}", "-S", tmp_path, "-B", build], check=True, capture_output=True
    )
    subprocess.run(["cmake", "--build", build], check=True, capture_output=True)
    subprocess.run([build / "program"], check=True)
    assert command("prove", build / "libtoy.so", "--script", "w1 s").status == 0
    assert command("firmware", "--cmake", "--libs").status == 2
