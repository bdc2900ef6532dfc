"""The page of a served disk in a real browser: light, dark, and as narrow as a phone.

Long, as a browser is no package of Python that make could install.
"""

import contextlib
import socket
import threading
import time

import browser
import pytest

from nandlab import _native

pytestmark = pytest.mark.long

TEXT = "[ftl.bast]\n[device]\ncapacity = '16MiB'\nover_provisioning = 0.3\n"
PAGE_BYTES = 4096


def free_port():
    with contextlib.closing(socket.socket()) as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@pytest.fixture
def page_of_a_busy_disk(tmp_path):
    """The address of the page of a disk that a thread writes to in a scattered order."""
    image, folder = tmp_path / "image", tmp_path / "folder"
    folder.mkdir()
    _native.disk_create(_native.Text(TEXT, "toml", "", ".", []), str(image))
    disk = _native.Disk(str(image))
    disk.fuse(str(folder))
    at = f"127.0.0.1:{free_port()}"
    disk.http(at)
    ended = threading.Event()

    def write():
        with (folder / "disk").open("r+b", buffering=0) as file:
            pages = file.seek(0, 2) // PAGE_BYTES
            for n in range(1 << 30):
                if ended.is_set():
                    return
                file.seek(n * 7919 % pages * PAGE_BYTES)
                file.write(bytes([n % 251]) * PAGE_BYTES)
                time.sleep(0.0005)

    writer = threading.Thread(target=write)
    writer.start()
    yield f"http://{at}/"
    ended.set()
    writer.join()
    disk.close()


@pytest.fixture
def page():
    opened = browser.Browser(browser.find())
    yield opened
    opened.close()


def wait(page, script, seconds=20):
    end = time.monotonic() + seconds
    while not page.value(script):
        assert time.monotonic() < end, f"not in {seconds} s: {script}"
        time.sleep(0.1)


COLOURS = """(() => {
    const canvas = document.getElementById("map"), context = canvas.getContext("2d");
    const data = context.getImageData(0, 0, canvas.width, canvas.height).data, seen = new Set();
    for (let at = 0; at < data.length; at += 4)
        if (data[at + 3] === 255) seen.add([...data.slice(at, at + 3)].join());
    const probe = document.createElement("canvas").getContext("2d");
    const has = name => { probe.fillStyle = colour(name); probe.fillRect(0, 0, 1, 1);
        return seen.has([...probe.getImageData(0, 0, 1, 1).data.slice(0, 3)].join()); };
    return ["free", "erased"].filter(has).concat(seen.size > 3 ? ["shades"] : []).join();
})()"""


@pytest.mark.parametrize(("width", "dark"), [(1100, False), (1100, True), (390, False)])
def test_the_page_shows_the_disk_at_work(page, page_of_a_busy_disk, width, dark):
    page.open(page_of_a_busy_disk, width=width, dark=dark)
    assert page.requests()[0] == page_of_a_busy_disk
    # Full merges are a matter of BAST, so the page has them when the disk has taken some writes.
    wait(page, "document.getElementById('matrix').textContent.includes('full_merge')")
    wait(page, "blocks.some(block => block[0] === 4)")
    wait(page, f"{COLOURS} === 'free,erased,shades'")
    assert page.value("document.getElementById('state').textContent") == "live, four frames a second"
    assert page.value("document.title") == "nandlab disk: bast, 16 MiB"
    assert page.value("document.documentElement.scrollWidth") <= width
    # A shade tells of columns beside a table.
    wide = "getComputedStyle(document.querySelector('.wide')).backgroundAttachment"
    assert page.value(wide) == "local, local, scroll, scroll"
    back = page.value("getComputedStyle(document.body).backgroundColor")
    assert back == ("rgb(18, 23, 29)" if dark else "rgb(255, 255, 255)")
    assert all(url.startswith((page_of_a_busy_disk, "data:")) for url in page.requests())
    # The test alone reads the canvas back, and the browser says that this is slow.
    assert [each for each in page.complaints() if "readback" not in str(each)] == []
