"""`nandlab prove` and `nandlab firmware` as a user calls them, on the toy firmware."""

import shlex
import subprocess
from pathlib import Path

import pytest
from conftest import call as command

TOY = Path(__file__).parents[2] / "examples/firmware/toy/toy.c"


def built(folder, define="SOUND"):
    """The toy as a shared object, with the options that the command tells."""
    flags = shlex.split(command("firmware", "--cflags").out)
    to = folder / f"{define}.so"
    subprocess.run(["cc", "-O1", "-shared", "-fPIC", f"-D{define}", *flags, "-o", to, TOY], check=True)
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
        ("w25q128", 30_000 + 7 * 2_500 + 8 * 160 + 45_000_000),
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
    source.write_text(
        '#include "nandlab.h"\nint main(void) { nl_config c; nl_default_config(&c); '
        "nl_device *d = nl_open(&c, 0, 0); int r = nl_erase(d, 0); nl_close(d); return r; }\n"
    )
    flags = shlex.split(command("firmware").out)
    subprocess.run(["cc", source, *flags, "-o", tmp_path / "program"], check=True)
    subprocess.run([tmp_path / "program"], check=True)
