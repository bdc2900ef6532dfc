"""`nandlab mount`: programs that nobody here wrote on YAFFS, MiNV and FAT."""

import contextlib
import errno
import json
import os
import shutil
import signal
import stat
import subprocess

import pytest
from programs import needs_fuse, process, program

# Without FUSE there is no mount to test; .ci/run installs it.
pytestmark = needs_fuse

SETS = {
    "yaffs": ["fs=yaffs"],
    "minv": ["fs=minv"],
    "fat": ["fs=fat", "ftl=page"],
}


def created(nandlab_command, folder, fs, *more):
    image = folder / "my.img"
    sets = ["device.capacity=64MiB", *SETS[fs], *more]
    done = nandlab_command("disk", "create", image, *[part for one in sets for part in ("--set", one)])
    assert done.status == 0, done.err
    return image


@contextlib.contextmanager
def mounted(image, *options):
    """The directory in which the files of the image are, and the process that shows them."""
    folder = image.parent / "mnt"
    folder.mkdir(exist_ok=True)
    with process("mount", image, folder, "--json", *options, says="Ctrl-C ends it") as shown:
        try:
            yield folder, shown
        finally:
            if shown.poll() is None:
                shown.send_signal(signal.SIGTERM)
                shown.communicate(timeout=60)
            # What a kill leaves behind.
            subprocess.run(["fusermount3", "-u", str(folder)], capture_output=True, check=False)


def make_tree(folder):
    """Files of many sizes in folders, executable ones, and links where they lead."""
    for number in range(60):
        below = folder / f"d{number % 7}" / "deep"
        below.mkdir(parents=True, exist_ok=True)
        file = below / f"file {number}.bin"
        file.write_bytes(os.urandom(number * 377 % 9000))
        file.chmod(0o755 if number % 3 else 0o640)


def test_the_cost_of_files_is_told(nandlab_command, tmp_path):
    image = created(nandlab_command, tmp_path, "yaffs")
    with mounted(image) as (folder, shown):
        assert list(folder.iterdir()) == []
        program("dd", "if=/dev/zero", f"of={folder / 'file'}", "bs=128k", "count=8")
        live = nandlab_command("disk", "stats", image, "--json").document
        assert live["host"]["written_sectors"] == (1 << 20) // 512
        shown.send_signal(signal.SIGTERM)
        found = json.loads(shown.communicate(timeout=60)[0])
    # 256 pages of data and a header or two for the file.
    data = [row for row in found["matrix"] if (row["origin"], row["cause"]) == ("file_data", "host")]
    assert sum(row["programs"] for row in data) == 256
    assert 256 < found["flash"]["programs"] < 265
    info = nandlab_command("disk", "info", image)
    assert "yaffs" in info.out
    assert "bare flash" in info.out


def attributes(found):
    return found.st_mode, found.st_uid, found.st_gid, found.st_mtime_ns


@pytest.mark.parametrize("fs", SETS)
def test_cp_tar_and_a_clone_of_git_are_there_after_the_next_mount(nandlab_command, tmp_path, fs):
    tree = tmp_path / "tree"
    make_tree(tree)
    repository = tmp_path / "repository"
    program("git", "init", "-q", repository)
    shutil.copytree(tree, repository / "files")
    program("git", "-C", repository, "add", ".")
    program("git", "-C", repository, "-c", "user.name=n", "-c", "user.email=n@n", "commit", "-qm", "files")
    program("tar", "-cf", tmp_path / "tree.tar", "-C", tmp_path, "tree")
    image = created(nandlab_command, tmp_path, fs)
    with mounted(image) as (folder, _):
        program("cp", "-a", tree, folder / "copied")
        program("tar", "-xf", tmp_path / "tree.tar", "-C", folder)
        program("git", "clone", "-q", repository, folder / "clone")
        program("sync", "-f", folder)
    with mounted(image) as (folder, _):
        program("diff", "-r", tree, folder / "copied")
        program("diff", "-r", tree, folder / "tree")
        program("diff", "-r", tree, folder / "clone" / "files")
        program("git", "-C", folder / "clone", "fsck", "--strict")
        assert program("git", "-C", folder / "clone", "status", "--short") == ""
        if fs == "yaffs":
            for file in tree.rglob("*"):
                ours, theirs = (folder / "copied" / file.relative_to(tree)).stat(), file.stat()
                names = ["st_mode", "st_uid", "st_gid", "st_mtime_ns"]
                assert [getattr(ours, name) for name in names] == [getattr(theirs, name) for name in names], (
                    file
                )
    checked = nandlab_command("disk", "check", image)
    assert checked.status == 0, checked.out
    assert "every invariant holds" in checked.out


@pytest.mark.parametrize("fs", SETS)
def test_sqlite_and_fio_work_on_it(nandlab_command, tmp_path, fs):
    image = created(nandlab_command, tmp_path, fs)
    numbers = "with recursive c(x) as (select 1 union all select x + 1 from c where x < 3000)"
    rows = f"create table t(a, b); {numbers} insert into t select x, hex(x) from c;"
    with mounted(image) as (folder, _):
        for mode in ("wal", "delete"):
            file = folder / f"{mode}.db"
            script = f"pragma journal_mode={mode}; {rows} delete from t where a % 3; vacuum;"
            program("sqlite3", file, script)
        job = ["--rw=randrw", "--bs=4k", "--size=4M", "--verify=crc32c", "--verify_state_save=0", "--minimal"]
        program("fio", "--name=job", f"--directory={folder}", "--ioengine=sync", *job, cwd=tmp_path)
        program("fio", "--name=map", f"--directory={folder}", "--ioengine=mmap", *job, cwd=tmp_path)
    with mounted(image) as (folder, _):
        for mode in ("wal", "delete"):
            told = program(
                "sqlite3", folder / f"{mode}.db", "pragma integrity_check; select count(*) from t;"
            )
            assert told.split() == ["ok", "1000"]


@pytest.mark.parametrize("fs", SETS)
def test_files_behave_as_on_a_kernels_file_system(nandlab_command, tmp_path, fs):
    image = created(nandlab_command, tmp_path, fs)
    with mounted(image) as (folder, _):
        check_open_files(folder)
        check_refusals(folder)
        check_links(folder, fs)
        number = (folder / "kept").stat().st_ino
        (folder / "kept").rename(folder / "moved")
        assert (folder / "moved").stat().st_ino == number
        left = (folder / "left open").open("w")
        left.write("x")
        left.flush()
        (folder / "left open").unlink()
        left.close()
        if fs != "fat":
            # FAT has no numbers of its own.
            (tmp_path / "number").write_text(str(number))
    with mounted(image) as (folder, _):
        assert sorted(path.name for path in folder.iterdir()) == ["d", "moved"]
        if fs != "fat":
            assert (folder / "moved").stat().st_ino == int((tmp_path / "number").read_text())


def check_open_files(folder):
    """An open file that is removed, renamed, or renamed over goes on as it is."""
    with (folder / "open").open("w+") as file:
        file.write("x" * 10_000)
        file.flush()
        (folder / "open").unlink()
        assert list(folder.iterdir()) == []
        assert os.fstat(file.fileno()).st_nlink == 0
        file.write("y")
        file.seek(0)
        assert file.read() == "x" * 10_000 + "y"
    (folder / "d").mkdir()
    with (folder / "d" / "before").open("w") as old, (folder / "new").open("w") as new:
        old.write("old")
        old.flush()
        new.write("new")
        new.flush()
        (folder / "new").rename(folder / "d" / "before")
        old.write(", still")
        new.write(", too")
    assert (folder / "d" / "before").read_text() == "new, too"
    with (folder / "kept").open("a") as one, (folder / "kept").open("a") as two:
        for number in range(10):
            for file in (one, two):
                file.write(str(number))
                file.flush()
    assert (folder / "kept").read_text() == "".join(f"{number}{number}" for number in range(10))
    with (folder / "d" / "before").open("r+") as file:
        (folder / "d").rename(folder / "e")
        file.truncate(3)
    (folder / "d").mkdir()
    (folder / "e").rename(folder / "d")
    assert (folder / "d" / "before").read_text() == "new"
    assert [path.name for path in (folder / "d").iterdir()] == ["before"]


def check_refusals(folder):
    """What cannot be done fails with the number that POSIX has for it."""

    def fails(number, function, *arguments):
        with pytest.raises(OSError, match=".") as error:
            function(*arguments)
        assert errno.errorcode[error.value.errno] == errno.errorcode[number]

    fails(errno.ENAMETOOLONG, (folder / ("n" * 256)).touch)
    fails(errno.ENOTEMPTY, os.rmdir, folder / "d")
    fails(errno.EEXIST, os.mkdir, folder / "d")
    fails(errno.EISDIR, os.rename, folder / "kept", folder / "d")
    fails(errno.ENOTDIR, os.rename, folder / "d", folder / "kept")
    fails(errno.EINVAL, os.rename, folder / "d", folder / "d" / "below")
    fails(errno.ENOENT, os.unlink, folder / "nothing")
    fails(errno.ENOTDIR, (folder / "kept" / "below").touch)
    fails(errno.EPERM, os.link, folder / "kept", folder / "second")
    fails(errno.EPERM, os.mkfifo, folder / "pipe")
    fails(errno.EPERM, (folder / ".nandlab-removed-7").touch)

    def fill():
        """A kernel that gathers writes tells of them at the fsync."""
        with (folder / "full").open("wb", buffering=0) as file:
            for _ in range(100):
                file.write(bytes(1 << 20))
            os.fsync(file.fileno())

    fails(errno.ENOSPC, fill)
    (folder / "full").unlink()


def check_links(folder, fs):
    """Symbolic links of any length where the format has them, owners and modes where it has room."""
    link, target = folder / "d" / "link", "../kept"
    if fs == "fat":
        with pytest.raises(PermissionError):
            link.symlink_to(target)
    else:
        link.symlink_to(target)
        assert (str(link.readlink()), link.read_text()) == (target, (folder / "kept").read_text())
        link.unlink()
    long = "../" + "kept/../" * 50 + "kept"
    if fs == "yaffs":
        link.symlink_to(long)
        assert (str(link.readlink()), os.lstat(link).st_size) == (long, len(long))
        assert stat.S_ISLNK(os.lstat(link).st_mode)
        link.unlink()
        (folder / "kept").chmod(0o4751)
        os.utime(folder / "kept", ns=(1, 1_234_567_890_123_456_789))
        assert (folder / "kept").stat().st_mtime_ns == 1_234_567_890_123_456_789
        assert stat.S_IMODE((folder / "kept").stat().st_mode) == 0o4751
    else:
        with pytest.raises(PermissionError):
            (folder / "kept").chmod(0o4751)
        (folder / "kept").chmod(0o640)
        assert stat.S_IMODE((folder / "kept").stat().st_mode) == 0o755, "as the kernel's FAT"


@pytest.mark.parametrize("fs", SETS)
def test_an_end_beside_an_open_file_loses_nothing_that_was_written(nandlab_command, tmp_path, fs):
    image = created(nandlab_command, tmp_path, fs)
    with mounted(image) as (folder, shown):
        left = (folder / "open").open("w")
        left.write("written")
        left.flush()
        shown.send_signal(signal.SIGTERM)
        shown.communicate(timeout=30)
        assert shown.returncode == 0
        with contextlib.suppress(OSError):
            left.close()
    with mounted(image) as (folder, _):
        assert (folder / "open").read_text() == "written"


@pytest.mark.parametrize("fs", SETS)
def test_what_was_synced_survives_a_kill(nandlab_command, tmp_path, fs):
    image = created(nandlab_command, tmp_path, fs)
    contents = {f"file {number}": os.urandom(5000 * number) for number in range(1, 9)}
    with mounted(image) as (folder, shown):
        for name, data in contents.items():
            with (folder / name).open("wb") as file:
                file.write(data)
                file.flush()
                os.fchmod(file.fileno(), 0o604)
                os.fsync(file.fileno())
        open_one = (folder / "removed").open("wb")
        open_one.write(bytes(50_000))
        open_one.flush()
        os.fsync(open_one.fileno())
        (folder / "removed").unlink()
        shown.kill()
        shown.wait()
        with contextlib.suppress(OSError):
            open_one.close()
    with mounted(image) as (folder, _):
        found = {path.name: path.read_bytes() for path in folder.iterdir()}
        modes = {stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir()}
    assert found == contents
    assert modes == {0o604 if fs == "yaffs" else 0o755}
    assert nandlab_command("disk", "check", image).status == 0


def small_writes(nandlab_command, folder, fs, cache):
    """The stats of 4,000 writes of 100 bytes to one file, and its contents after the next mount."""
    folder.mkdir()
    image = created(nandlab_command, folder, fs)
    with mounted(image, "--cache", cache) as (mnt, shown):
        with (mnt / "log").open("ab", buffering=0) as file:
            for number in range(4000):
                file.write(f"{number:099}\n".encode())
            os.fsync(file.fileno())
            # What was written in the middle of a page reads back, also where only writing was asked for.
            with (mnt / "log").open("r+b", buffering=0) as other:
                other.seek(12_345)
                other.write(b"middle")
            os.truncate(mnt / "log", 399_000)
            file.write(b"end")
        os.utime(mnt / "log", ns=(1, 1_234_567_890_000_000_000))
        assert (mnt / "log").stat().st_mtime_ns == 1_234_567_890_000_000_000
        shown.send_signal(signal.SIGTERM)
        found = json.loads(shown.communicate(timeout=60)[0])
    with mounted(image) as (mnt, _):
        read = (mnt / "log").read_bytes()
    assert nandlab_command("disk", "check", image).status == 0
    return found, read


@pytest.mark.parametrize("fs", SETS)
def test_the_kernel_gathers_small_writes_unless_it_is_told_not_to(nandlab_command, tmp_path, fs):
    expected = bytearray("".join(f"{number:099}\n" for number in range(4000)).encode())
    expected[12_345:12_351] = b"middle"
    expected = bytes(expected[:399_000]) + b"end"
    gathered, read = small_writes(nandlab_command, tmp_path / "gathered", fs, "writeback")
    assert read == expected
    through, read = small_writes(nandlab_command, tmp_path / "through", fs, "through")
    assert read == expected
    # The cache of YAFFS for parts of pages gathers them, too.
    less = 1 if fs == "yaffs" else 3
    assert gathered["flash"]["programs"] * less <= through["flash"]["programs"]
    assert gathered["host"]["writes"] * 3 < through["host"]["writes"]


@pytest.mark.parametrize("cache", ["writeback", "through"])
def test_names_with_a_tilde_are_one_file_each_on_fat(nandlab_command, tmp_path, cache):
    image = created(nandlab_command, tmp_path, "fat")
    with mounted(image, "--cache", cache) as (folder, _):
        for name in ("~dmtmp", "~$letter.docx", "file~", ".~lock.a.odt#", " first"):
            (folder / name).write_text(name)
        (folder / "long file name.txt").write_text("long")
        alias = folder / "LONGFI~1.TXT"
        assert alias.stat().st_ino == (folder / "long file name.txt").stat().st_ino
        with alias.open("a") as file:
            file.write(", longer")
        assert (folder / "long file name.txt").read_text() == "long, longer"
        (folder / "dots..").write_text("dots")
        assert (folder / "dots").read_text() == "dots"
        names = sorted(path.name for path in folder.iterdir())
        assert names == [
            " first", ".~lock.a.odt#", "dots", "file~", "long file name.txt", "~$letter.docx", "~dmtmp",
        ]  # fmt: skip
        for refused in ("a:b", "a?", "a*", "a|b", 'a"', "a<b", "a\\b", "end "):
            with pytest.raises(OSError, match="Invalid argument"):
                (folder / refused).touch()
    with mounted(image) as (folder, _):
        assert (folder / "~$letter.docx").read_text() == "~$letter.docx"


def test_a_disk_with_another_file_system_is_told_what_is_there(nandlab_command, tmp_path):
    image, folder = tmp_path / "my.img", tmp_path / "mnt"
    folder.mkdir()
    created_ = nandlab_command("disk", "create", image, "--set", "ftl=page", "--set", "device.capacity=64MiB")
    assert created_.status == 0, created_.err
    blank = nandlab_command("mount", image, folder)
    assert blank.status == 1
    assert "it is a disk without a FAT volume" in blank.err
    assert "nandlab disk serve" in blank.err
    assert "mkfs.vfat" in blank.err
    with process("disk", "serve", image, "--fuse", folder, says="Ctrl-C ends it") as served:
        program("mkfs.ext4", "-q", "-F", folder / "disk")
        served.send_signal(signal.SIGTERM)
        served.wait(timeout=60)
    ext4 = nandlab_command("mount", image, folder)
    assert ext4.status == 1
    assert "it is a disk with ext4" in ext4.err
    assert "nandlab disk serve" in ext4.err


def test_what_a_kill_left_mounted_is_taken_away(nandlab_command, tmp_path):
    files = created(nandlab_command, tmp_path, "yaffs")
    disk = tmp_path / "disk.img"
    assert (
        nandlab_command("disk", "create", disk, "--set", "ftl=page", "--set", "device.capacity=64MiB").status
        == 0
    )
    folder = tmp_path / "a mount point"
    folder.mkdir()
    commands = [("mount", files, folder), ("disk", "serve", disk, "--fuse", folder)]
    for killed in commands:
        for next_ in commands:
            with process(*killed, says="Ctrl-C ends it") as shown:
                shown.kill()
                shown.wait()
            with pytest.raises(OSError, match="not connected"):
                list(folder.iterdir())
            with process(*next_, says="Ctrl-C ends it") as shown:
                assert len(list(folder.iterdir())) < 2
                shown.send_signal(signal.SIGTERM)
                assert shown.wait(timeout=60) == 0


def test_a_volume_of_mkfs_vfat_is_mounted_and_fsck_vfat_finds_no_fault_after(nandlab_command, tmp_path):
    image = tmp_path / "my.img"
    assert (
        nandlab_command("disk", "create", image, "--set", "ftl=page", "--set", "device.capacity=64MiB").status
        == 0
    )
    refused = nandlab_command("mount", image, tmp_path)
    assert refused.status == 1
    assert "cannot be mounted" in refused.err
    assert "Traceback" not in refused.err
    disk = tmp_path / "disk"
    disk.mkdir()
    make_tree(tmp_path / "tree")
    with process("disk", "serve", image, "--fuse", disk, says="Ctrl-C ends it") as served:
        program("mkfs.vfat", disk / "disk")
        served.send_signal(signal.SIGTERM)
        served.wait(timeout=60)
    with mounted(image) as (folder, _):
        program("cp", "-r", tmp_path / "tree", folder / "tree")
        (folder / "README").write_text("upper case")
        assert (folder / "readme").read_text() == "upper case", "FAT does not tell cases apart"
        (folder / "readme").unlink()
        assert not (folder / "README").exists()
    with process("disk", "serve", image, "--fuse", disk, says="Ctrl-C ends it") as served:
        program("fsck.vfat", "-n", disk / "disk")
        names = program("mdir", "-/", "-b", "-i", disk / "disk", "::/tree")
        assert len(names.splitlines()) == len(list((tmp_path / "tree").rglob("*")))
        served.send_signal(signal.SIGTERM)
        served.wait(timeout=60)


@pytest.mark.parametrize(
    ("sets", "says"),
    [
        (["fs={posix={directory='x'}}"], "fs.posix is a directory of this machine"),
        (["fs=yaffs", "ftl=page"], "ftl.page would not be used"),
        (["fs=fat"], "needs the key `ftl`"),
        (["ftl=page", "index=b_tree"], "index"),
    ],
)
def test_what_is_no_directory_is_refused(nandlab_command, tmp_path, sets, says):
    pairs = [part for pair in sets for part in ("--set", pair)]
    done = nandlab_command("disk", "create", tmp_path / "my.img", *pairs)
    assert (done.status, says in done.err) == (2, True), done.err


def test_files_on_bare_flash_are_no_disk(nandlab_command, tmp_path):
    image = created(nandlab_command, tmp_path, "yaffs")
    done = nandlab_command("disk", "serve", image, "--nbd", tmp_path / "socket")
    assert done.status == 1
    assert "`nandlab mount` makes a directory of it" in done.err
    busy = nandlab_command("mount", image, tmp_path / "nowhere")
    assert busy.status == 2
