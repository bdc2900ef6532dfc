"""Mounts of YAFFS, MiNV and FAT: links that programs copy, and images that are only looked at or are old."""

import signal
import subprocess
import sys

import pytest
from programs import program
from test_mount import SETS, created, mounted, pytestmark  # noqa: F401 - the mark is for this module, too


def check_copies_of_links(folder, fs, tree):
    """`cp -a` copies symbolic links. On FAT it fails for each one, as on `vfat`, and copies the rest."""
    done = subprocess.run(
        ["cp", "-a", str(tree), str(folder / "all")], capture_output=True, text=True, check=False
    )
    link = folder / "all" / "link"
    assert (folder / "all" / "file").read_text() == "held"
    if fs != "fat":
        assert done.returncode == 0, done.stderr
        assert program("readlink", link).strip() == "file"
        assert program("readlink", folder / "all" / "gone").strip() == "no such/file"
        assert link.read_text() == "held"
        return
    assert done.returncode == 1
    assert "Operation not permitted" in done.stderr
    assert not link.is_symlink() and not link.exists()
    (tree / "gone").unlink()
    program("cp", "-rL", tree, folder / "followed")
    assert (folder / "followed" / "link").read_text() == "held"


@pytest.mark.parametrize("fs", SETS)
def test_links_are_copied_where_there_are_any(nandlab_command, tmp_path, fs):
    tree = tmp_path / "tree"
    tree.mkdir()
    (tree / "file").write_text("held")
    (tree / "link").symlink_to("file")
    (tree / "gone").symlink_to("no such/file")
    image = created(nandlab_command, tmp_path, fs)
    with mounted(image) as (folder, _):
        check_copies_of_links(folder, fs, tree)
        environment = [sys.executable, "-m", "venv", "--without-pip", str(folder / "venv")]
        made = subprocess.run(environment, capture_output=True, text=True, check=False)
        assert (made.returncode == 0) == (fs != "fat"), made.stderr
    if fs == "fat":
        return
    with mounted(image) as (folder, _):
        assert program("readlink", folder / "all" / "link").strip() == "file"
        assert program(folder / "venv" / "bin" / "python", "-c", "print(6 * 7)").strip() == "42"


@pytest.mark.parametrize("fs", SETS)
@pytest.mark.parametrize("option", ["--read-only", "--rescue"])
def test_an_image_to_look_at_stays_as_it_is(nandlab_command, tmp_path, fs, option):
    image = created(nandlab_command, tmp_path, fs)
    with mounted(image) as (folder, _):
        (folder / "file").write_text("held")
    before = image.read_bytes()
    with mounted(image, option) as (folder, shown):
        assert (folder / "file").read_text() == "held"
        for change in (
            lambda: (folder / "file").write_text("new"),
            lambda: (folder / "other").touch(),
            lambda: (folder / "file").unlink(),
        ):
            with pytest.raises(OSError, match="Read-only file system"):
                change()
        shown.send_signal(signal.SIGTERM)
        shown.communicate(timeout=60)
        assert shown.returncode == 0
    assert image.read_bytes() == before


@pytest.mark.parametrize("fs", SETS)
def test_an_old_image_is_refused_and_a_rescue_shows_it(nandlab_command, tmp_path, fs):
    image, epoch = created(nandlab_command, tmp_path, fs), tmp_path / "epoch"
    with mounted(image, "--epoch", epoch) as (folder, _):
        (folder / "file").write_text("old")
    before = image.read_bytes()
    with mounted(image, "--epoch", epoch) as (folder, _):
        (folder / "file").write_text("new")
    image.write_bytes(before)
    (tmp_path / "mnt").mkdir(exist_ok=True)
    refused = nandlab_command("mount", image, tmp_path / "mnt", "--epoch", epoch)
    assert refused.status == 1
    assert f"is older than {epoch} tells" in refused.err
    assert image.read_bytes() == before
    with mounted(image, "--epoch", epoch, "--rescue") as (folder, _):
        assert (folder / "file").read_text() == "old"
    assert image.read_bytes() == before


@pytest.mark.parametrize("fs", SETS)
def test_an_image_with_old_records_is_shown_by_a_rescue(nandlab_command, tmp_path, fs):
    image = created(nandlab_command, tmp_path, fs)
    with mounted(image) as (folder, _):
        (folder / "file").write_bytes(b"held" * 5000)
    before = image.read_bytes()
    with mounted(image) as (folder, _):
        for number in range(20):
            (folder / f"more {number}").write_bytes(b"more" * 5000)
    # The first half is as before.
    half = len(before) // 2
    now = before[:half] + image.read_bytes()[half:]
    image.write_bytes(now)
    refused = nandlab_command("mount", image, tmp_path / "mnt")
    assert refused.status == 1
    assert "is not current" in refused.err
    assert "--rescue" in refused.err
    with mounted(image, "--rescue") as (folder, _):
        assert (folder / "file").read_bytes() == b"held" * 5000
    assert image.read_bytes() == now
