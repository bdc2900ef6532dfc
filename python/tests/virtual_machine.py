"""A virtual machine with Debian's kernel. Its NVMe/TCP initiator reaches this machine's loopback at 10.0.2.2.

It boots from memory alone: programs of this machine with their libraries, modules of the kernel, one script.
"""

import contextlib
import os
import re
import shutil
import subprocess
import threading
from pathlib import Path

PATH = f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin"
PACKAGES = {
    "qemu-system-x86_64": "qemu-system-x86",
    "busybox": "busybox-static",
    "modinfo": "kmod",
    "nvme": "nvme-cli",
    "fio": "fio",
    "blkzone": "util-linux",
    "mkfs.ext4": "e2fsprogs",
    "e2fsck": "e2fsprogs",
    "mkfs.btrfs": "btrfs-progs",
    "btrfs": "btrfs-progs",
    "mkfs.f2fs": "f2fs-tools",
    "fsck.f2fs": "f2fs-tools",
}
INSIDE = ["nvme", "fio", "blkzone", "mkfs.ext4", "e2fsck", "mkfs.btrfs", "btrfs", "mkfs.f2fs", "fsck.f2fs"]
# What a module loads beside the modules it depends on stands in no file that is read here.
MODULES = [
    *("crc32_generic", "crc32c_generic", "crct10dif_generic", "crc64_rocksoft_generic"),
    *("xxhash_generic", "sha256_generic", "blake2b_generic"),
    *("virtio_pci", "virtio_net", "nvme-tcp", "ext4", "btrfs", "f2fs", "brd"),
]
# The firmware's commands to a screen.
SCREEN = re.compile(r"\x1b(c|\[[?0-9;]*[a-zA-Z])")
KERNEL = Path(os.environ.get("NANDLAB_KERNEL", "/"))
KERNEL_HOW = """apt-get download $(apt-cache depends linux-image-amd64 | sed -n 's/.*Depends: //p')
dpkg -x linux-image-*.deb kernel
make test-nvme NANDLAB_KERNEL=$PWD/kernel"""
INIT = """#!/bin/busybox sh
/bin/busybox --install -s /bin
export PATH=/bin:/usr/bin
mount -t proc proc /proc; mount -t sysfs sys /sys; mount -t devtmpfs dev /dev
for module in {modules}; do
    insmod /modules/$module $(cat /options/$module 2>/dev/null)
done
echo
ip link set eth0 up; ip addr add 10.0.2.15/24 dev eth0
sh -e /script </dev/null && echo ALL IS WELL
poweroff -f
"""


def place(program):
    return shutil.which(program, path=PATH)


def missing():
    """What is not installed, and how to get it; empty if all is there."""
    packages = " ".join(sorted({package for program, package in PACKAGES.items() if not place(program)}))
    lacks = [f"packages are missing:\napt-get install {packages}"] if packages else []
    if not list(KERNEL.glob("boot/vmlinuz-*")):
        lacks.append(f"{KERNEL} has no kernel in boot:\n{KERNEL_HOW}")
    return "\n".join(lacks)


def _kernel():
    """The newest kernel and its modules' folder."""
    kernel = max(KERNEL.glob("boot/vmlinuz-*"))
    return kernel, KERNEL / "lib/modules" / kernel.name.removeprefix("vmlinuz-")


def _modules(folder):
    """The files of all modules needed, each after those it depends on."""
    found = {file.name.split(".")[0].replace("-", "_"): file for file in folder.rglob("*.ko*")}
    order = {}

    def add(name):
        file = found.get(name.replace("-", "_"))
        if file is None or file in order:
            return
        needs = subprocess.check_output([place("modinfo"), "-F", "depends", file], text=True).strip()
        for other in filter(None, needs.split(",")):
            add(other)
        order[file] = None

    for name in MODULES:
        add(name)
    return list(order)


def _entry(number, name, mode, data=b""):
    """A file of a cpio archive in the form that Linux reads."""
    fields = [number, mode, 0, 0, 1, 0, len(data), 0, 0, 0, 0, len(name) + 1, 0]
    head = b"070701" + b"".join(b"%08X" % field for field in fields) + name.encode() + b"\0"
    return head + bytes(-len(head) % 4) + data + bytes(-len(data) % 4)


def _archive(files):
    """An archive of `files`, a path to its contents, with every folder above them."""
    folders = {str(folder) for name in files for folder in Path(name).parents if str(folder) != "."}
    folders |= {"proc", "sys", "dev", "tmp", "mnt"}
    entries = [_entry(at, name, 0o040755) for at, name in enumerate(sorted(folders), 1)]
    entries += [_entry(at, name, 0o100755, data) for at, (name, data) in enumerate(files.items(), 1 << 16)]
    return b"".join(entries) + _entry(0, "TRAILER!!!", 0)


def base():
    """The archive of all but the script."""
    _, folder = _kernel()
    modules = _modules(folder)
    names = " ".join(file.name for file in modules if file.name != "brd.ko")
    files = {"init": INIT.format(modules=names).encode(), "bin/busybox": Path(place("busybox")).read_bytes()}
    files |= {f"modules/{file.name}": file.read_bytes() for file in modules}
    for program in INSIDE:
        files[f"usr/bin/{program}"] = Path(place(program)).read_bytes()
        libraries = subprocess.check_output(["ldd", place(program)], text=True)
        for library in re.findall(r"(/\S+) \(", libraries):
            files[library[1:]] = Path(library).read_bytes()
    return _archive(files)


class Machine:
    """A running machine and what it printed."""

    def __init__(self, process):
        self.process, self.said = process, []
        self._news = threading.Condition()
        self._is_over = False
        self._reader = threading.Thread(target=self._read)
        self._reader.start()

    def _read(self):
        for line in self.process.stdout:
            with self._news:
                self.said.append(SCREEN.sub("", line).strip())
                self._news.notify_all()
        with self._news:
            self._is_over = True
            self._news.notify_all()

    def text(self):
        """All it printed."""
        return "\n".join(self.said)

    def wait_for(self, line, seconds=240):
        """Waits until it prints a line."""
        with self._news:
            self._news.wait_for(lambda: line in self.said or self._is_over, seconds)
            assert line in self.said, self.text()[-4000:]

    def finish(self, seconds=400):
        """Waits for its end; all it printed. Every command of the script went well."""
        self.process.wait(seconds)
        self._reader.join()
        assert "ALL IS WELL" in self.said, self.text()[-4000:]
        return self.text()


@contextlib.contextmanager
def machine(archive, folder, script, options=None):
    """A machine that runs `script` and stops at its first command that fails.

    `archive` is a file from `base`, `options` has parameters of modules by their files' names.
    """
    both = folder / "initrd"
    with both.open("wb") as out, archive.open("rb") as begin:
        shutil.copyfileobj(begin, out)
        files = {f"options/{module}": text.encode() for module, text in (options or {}).items()}
        out.write(_archive({"script": script.encode(), **files}))
    kernel, _ = _kernel()
    command = [place("qemu-system-x86_64"), "-accel", "tcg", "-m", "1024", "-nographic", "-no-reboot"]
    command += ["-kernel", kernel, "-initrd", both, "-append", "console=ttyS0 quiet panic=-1"]
    command += ["-netdev", "user,id=net", "-device", "virtio-net-pci,netdev=net"]
    pipes = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
    with subprocess.Popen(command, text=True, errors="replace", **pipes) as process:
        started = Machine(process)
        try:
            yield started
        finally:
            process.kill()
            both.unlink()
