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
    ],
)
def test_wrong_input_is_told(tmp_path, options, sentence):
    done = command("prove", built(tmp_path), *options)
    assert done.status == 2
    assert sentence in done.err


def test_a_program_links_the_library(tmp_path):
    source = tmp_path / "program.c"
    source.write_text(
        '#include "nandlab.h"\nint main(void) { nl_config c; nl_default_config(&c); '
        "nl_device *d = nl_open(&c, 0, 0); int r = nl_erase(d, 0); nl_close(d); return r; }\n"
    )
    flags = shlex.split(command("firmware").out)
    subprocess.run(["cc", source, *flags, "-o", tmp_path / "program"], check=True)
    subprocess.run([tmp_path / "program"], check=True)
