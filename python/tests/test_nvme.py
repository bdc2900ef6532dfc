"""`nandlab disk serve --nvme`: a host of its own against the drive in an image."""

import contextlib
import json
import random
import signal
import socket
import struct
import threading
import urllib.request

import pytest
from nvme_initiator import DISCONNECT, DISCOVERY, Connection, Controller, Ended, Failed
from programs import process

DEVICE = ["--set", "ftl=page", "--set", "device.capacity=16MiB", "--set", "device.over_provisioning=0.28"]
BLOCKS = (16 << 20) // 512


@pytest.fixture
def image(nandlab_command, tmp_path):
    path = tmp_path / "my.img"
    assert nandlab_command("disk", "create", path, *DEVICE).status == 0
    return path


@contextlib.contextmanager
def served(image, *options):
    """A process that serves the image; its address and its NQN."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    at = f"127.0.0.1:{port}"
    with process("disk", "serve", image, "--nvme", at, *options, says=f"by NVMe at {at}") as started:
        discovery = Controller(("127.0.0.1", port), DISCOVERY)
        (count,) = struct.unpack_from("<Q", discovery.log(0x70, 1024), 8)
        assert count == 2
        entry = discovery.log(0x70, 1024, offset=1024)
        assert entry[:3] == bytes([3, 1, 2]), "TCP, IPv4, an NVM subsystem"
        assert entry[32:64].decode().split() == [str(port)]
        try:
            yield started, ("127.0.0.1", port), entry[256:512].rstrip(b"\0").decode()
        finally:
            Connection.close_all()


def status(work, *arguments, **options):
    """The status that `work` fails with."""
    with pytest.raises(Failed) as failed:
        work(*arguments, **options)
    return failed.value.status


@pytest.mark.parametrize(
    "digests", [{}, {"header_digest": True}, {"header_digest": True, "data_digest": True}]
)
def test_a_thousand_random_requests_against_a_model(image, digests):
    with served(image) as (_, address, nqn):
        controller = Controller(address, nqn, **digests)
        controller.feature(7, 1 | 1 << 16)
        queues = [controller.queue(1), controller.queue(2, no_flow_control=True)]
        draw = random.Random(70)
        # Half a mebibyte, so requests meet; its first contents are part of the test.
        model = bytearray(queues[0].read(0, 1024))
        for _ in range(1000):
            queue, kind = draw.choice(queues), draw.random()
            blocks = draw.choice([1, 1, 8, 8, 8, 16, 17, 40])
            block = draw.randrange(1024 - blocks)
            start, end = block * 512, (block + blocks) * 512
            if kind < 0.45:
                assert queue.read(block, blocks) == model[start:end]
            elif kind < 0.85:
                data = draw.randbytes(16) * (blocks * 32)
                queue.write(block, data, fua=kind < 0.5)
                model[start:end] = data
            elif kind < 0.9:
                queue.zero(block, blocks, deallocate=kind < 0.88)
                model[start:end] = bytes(end - start)
            elif kind < 0.95:
                # Whole flash pages, which read as zeros after it.
                queue.trim([(block // 8 * 8, 8), (block // 16 * 16, 16)], draw.choice([0, 4096]))
                for first, count in [(block // 8 * 8, 8), (block // 16 * 16, 16)]:
                    model[first * 512 : (first + count) * 512] = bytes(count * 512)
            elif kind < 0.97:
                queue.flush(draw.choice([1, 0xFFFFFFFF]))
            else:
                queue.compare(block, bytes(model[start:end]))
                wrong = bytes(model[start : end - 1]) + bytes([model[end - 1] ^ 1])
                assert status(queue.compare, block, wrong) == 0x285
        assert queues[1].read(0, 1024) == model
        queues[0].verify(0, 1024)


def test_many_commands_at_once_on_several_queues(image):
    with served(image) as (_, address, nqn):
        controller = Controller(address, nqn)
        controller.feature(7, 3 | 3 << 16)
        queues = [controller.queue(number) for number in range(1, 5)]
        for number, queue in enumerate(queues):
            # The first eight come in their capsules, the others when they are asked for.
            starts = []
            for place in range(64):
                blocks = 8 if place < 8 else 24
                data = bytes([number * 64 + place]) * (blocks * 512)
                starts.append(queue.start(queue.range(1, 2048 + (number * 64 + place) * 24, blocks), data))
            queue.socket.sendall(b"".join(starts))
        for queue in queues:
            while len(queue.done) < 64:
                queue.step()
            assert set(queue.done.values()) == {(0, 0)}
        for place in range(256):
            blocks = 8 if place % 64 < 8 else 24
            assert queues[0].read(2048 + place * 24, blocks) == bytes([place]) * (blocks * 512)


def test_a_drive_describes_itself_and_keeps_its_name(image):
    names = []
    for _ in range(2):
        with served(image) as (_, address, nqn):
            controller = Controller(address, nqn)
            found = controller.identify(1)
            assert found[24:64].decode().strip() == "nandlab page"
            assert found[768:1024].rstrip(b"\0").decode() == nqn
            namespace = controller.identify(0, 1)
            assert struct.unpack_from("<QQQ", namespace) == (BLOCKS, BLOCKS, BLOCKS)
            # The flash page of 4 KiB is eight blocks, counted from 0.
            assert struct.unpack_from("<HHHHH", namespace, 64) == (7, 7, 7, 7, 7)
            assert namespace[130] == 9
            assert controller.identify(2)[:8] == struct.pack("<II", 1, 0)
            described = controller.identify(3, 1)
            assert (described[:2], described[20:22], described[40:42]) == (
                b"\x02\x10",
                b"\x03\x10",
                b"\x04\x01",
            )
            assert described[24:40].hex() == nqn.rsplit(":", 1)[1].replace("-", "")
            assert controller.identify(8, 1)[14] == 1, "it is ready"
            assert controller.identify(0x1C)[:8] == struct.pack("<Q", 1)
            assert controller.identify(6) == controller.identify(5, 1) == bytes(4096)
            names.append((nqn, described[:45], found[4:24]))
            queue = controller.queue(1) if controller.feature(7, 0) == 0 else None
            before = controller.log(2, 512)
            queue.write(0, bytes(512 * 2000))
            after = controller.log(2, 512)
            written = [struct.unpack_from("<Q", log, 48)[0] for log in (before, after)]
            assert written[1] - written[0] == 2, "thousands of sectors"
            assert after[3] == 100 and struct.unpack_from("<Q", after, 112)[0] >= len(names)
            assert controller.log(5, 4096)[1024 + 4] & 3 == 3, "a write changes data"
    assert names[0] == names[1]


def test_blocks_of_4096_bytes(image):
    with served(image, "--nvme-block", "4096") as (_, address, nqn):
        controller = Controller(address, nqn)
        controller.feature(7, 0)
        queue = controller.queue(1)
        namespace = controller.identify(0, 1)
        assert (struct.unpack_from("<Q", namespace)[0], namespace[130], namespace[64]) == (4096, 12, 0)
        queue.write(4095, b"x" * 4096, size=4096)
        assert queue.read(4095, 1, size=4096) == b"x" * 4096
        assert status(queue.read, 4095, 2, size=4096) == 0x080


def test_refusals(image):
    with served(image) as (_, address, nqn):
        controller = Controller(address, nqn)
        assert status(controller.queue, 1) == 0x182, "no queues were asked for yet"
        controller.feature(7, 0)
        queue = controller.queue(1)
        assert status(queue.read, BLOCKS, 1) == 0x080
        assert status(queue.write, BLOCKS - 1, bytes(1024)) == 0x080
        assert status(queue.trim, [(0, 1), (BLOCKS, 1)]) == 0x080
        assert status(queue.trim, [(0, 1)], room=4112) == 0x00F
        assert status(queue.zero, 2**64 - 1, 2) == 0x080
        assert status(queue.read, 0, 4096) == 0x002, "more than 1 MiB"
        assert status(queue.ask, queue.entry(2, namespace=2), length=512) == 0x00B
        assert status(queue.ask, queue.entry(0x79, namespace=1)) == 0x001
        assert status(queue.ask, queue.range(1, 0, 1, 2 << 20), bytes(512)) == 0x002, "no directives"
        assert status(controller.ask, controller.entry(0x0D)) == 0x001
        assert status(controller.identify, 0, 2) == 0x00B
        assert status(controller.identify, 0x77) == 0x002
        assert status(controller.log, 0xC0, 512) == 0x109
        assert status(controller.log, 2, 512, offset=1024) == 0x002
        assert status(controller.feature, 0x77) == 0x002
        assert status(controller.feature, 7, 0) == 0x00C, "queues are there"
        assert status(controller.property, 0x30) == 0x002
        with pytest.raises((Ended, Failed)):
            Connection(address).connect(0, 0xFFFF, "nqn.2014-08.org:other")


def test_the_error_log_write_cache_and_events(image):
    with served(image) as (_, address, nqn):
        controller = Controller(address, nqn)
        controller.feature(7, 0)
        queue = controller.queue(1)
        assert controller.feature(6) == 1
        controller.feature(6, 0)
        queue.write(0, b"y" * 512)
        assert controller.feature(6) == 0
        assert status(queue.read, BLOCKS, 1) == 0x080
        number, number_of_queue, _, failed = struct.unpack_from("<QHHH", controller.log(1, 64))
        assert (number, number_of_queue, failed >> 1 & 0x7FF) == (1, 1, 0x080)
        starts = [controller.start(controller.entry(0x0C)) for _ in range(5)]
        controller.socket.sendall(b"".join(starts))
        refused = controller.step()
        assert controller.done.pop(refused)[0] & 0x7FF == 0x105, "four may wait"
        aborted = refused - 1
        assert controller.ask(controller.entry(8, [(40, "I", aborted << 16)]))[0] & 1 == 0
        assert controller.done.pop(aborted)[0] & 0x7FF == 0x007


def test_a_reset_ends_the_queues_and_a_disconnect_one(image):
    with served(image) as (_, address, nqn):
        controller = Controller(address, nqn)
        controller.feature(7, 1 | 1 << 16)
        first, second = controller.queue(1), controller.queue(2)
        first.fabrics(DISCONNECT)
        with pytest.raises(Ended):
            first.receive()
        second.write(0, bytes(512))
        controller.configure(0)
        with pytest.raises(Ended):
            second.receive()
        assert controller.property(0x1C) & 1 == 0
        assert status(controller.queue, 1) == 0x182
        controller.configure(0x00460061)
        controller.feature(7, 0)
        controller.queue(1).write(0, bytes(512))
        controller.configure(0x00464061)
        assert controller.property(0x1C) >> 2 & 3 == 2, "shut down"


def written_before(image, end, flushes, look=lambda controller: None):
    """Data written and flushed, or not, before the server ends; the same blocks when it serves again."""
    written = random.Random(end).randbytes(8192)
    with served(image) as (started, address, nqn):
        controller = Controller(address, nqn)
        controller.feature(7, 0)
        look(controller)
        queue = controller.queue(1)
        queue.write(100, written)
        if flushes:
            queue.flush()
        drained = threading.Thread(target=started.communicate)
        drained.start()
        started.send_signal(end)
        with pytest.raises(Ended):
            queue.receive()
        drained.join()
    with served(image) as (_, address, nqn):
        controller = Controller(address, nqn)
        controller.feature(7, 0)
        return written, controller.queue(1).read(100, 16)


@pytest.mark.parametrize("end", [signal.SIGINT, signal.SIGKILL])
def test_flushed_data_is_there_after_the_end(image, end):
    written, found = written_before(image, end, flushes=True)
    assert found == written


@pytest.mark.parametrize("protected", [False, True])
def test_only_capacitors_make_a_controllers_memory_no_volatile_cache(nandlab_command, tmp_path, protected):
    memory = f"{{ write_buffer_bytes = 131072, write_buffer_protected = {str(protected).lower()} }}"
    image = tmp_path / "my.img"
    made = nandlab_command("disk", "create", image, *DEVICE, "--set", f"device.controller={memory}")
    assert made.status == 0, made.err

    def look(controller):
        assert controller.identify(1)[525] & 1 == (not protected)
        if protected:
            assert status(controller.feature, 6) == status(controller.feature, 6, 0) == 0x002

    written, found = written_before(image, signal.SIGKILL, flushes=False, look=look)
    assert found == (written if protected else bytes(8192))


def test_a_recorded_run_counts_as_its_replay(nandlab_command, image, tmp_path):
    trace, draw = tmp_path / "t.nltr", random.Random(3)
    with served(image, "--record", trace) as (started, address, nqn):
        controller = Controller(address, nqn)
        controller.feature(7, 1 | 1 << 16)
        queues = [controller.queue(1), controller.queue(2)]
        for number in range(600):
            queue, blocks = queues[number % 2], draw.choice([1, 8, 128, 256])
            block, kind = draw.randrange(BLOCKS - blocks), draw.random()
            if kind < 0.8:
                queue.write(block, bytes([number % 251]) * (blocks * 512), fua=kind < 0.02)
            elif kind < 0.9:
                queue.read(block, blocks)
            elif kind < 0.97:
                queue.trim([(block, blocks)])
            else:
                queue.flush()
        # The end of the server flushes, too, and that flush is in the trace.
        queues[0].flush()
        stats = nandlab_command("disk", "stats", image, "--json").document
        started.send_signal(signal.SIGINT)
        started.communicate()
    replay = tmp_path / "replay.toml"
    replay.write_text(f'[workload.trace]\npath = "{trace}"\n[ftl.page]\n')
    record = nandlab_command("run", "--json", replay, *DEVICE[2:]).document
    assert stats["flash"]["erases"] > 10, "it collects"
    for part in ("flash", "matrix", "wear"):
        assert record[part] == stats[part], part
    counts = ("reads", "writes", "trims", "read_sectors", "written_sectors")
    assert [record["host"][name] for name in counts] == [stats["host"][name] for name in counts]


def test_each_queue_is_told_apart(nandlab_command, image):
    """Both queues of one controller and one of another; the page and Prometheus tell the same."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with served(image, "--http", f"127.0.0.1:{port}") as (_, address, nqn):
        controllers = [Controller(address, nqn) for _ in range(2)]
        for controller in controllers:
            controller.feature(7, 1 | 1 << 16)
        queues = [controllers[0].queue(1), controllers[0].queue(2), controllers[1].queue(2)]
        for block in range(0, 640, 8):
            queues[0].write(block, bytes(4096))
        queues[1].read(0, 64)
        queues[2].write(0, bytes(512), fua=True)
        queues[2].trim([(0, 8), (64, 8)])
        stats = nandlab_command("disk", "stats", image, "--json").document
        text = nandlab_command("disk", "stats", image).out
        metrics = urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics").read().decode()
        record = json.load(urllib.request.urlopen(f"http://127.0.0.1:{port}/record"))
    ids = [controller.id for controller in controllers]
    rows = stats["queues"]["rows"]
    names = ("controller", "queue", "requests", "reads", "writes", "read_bytes", "written_bytes")
    assert [tuple(row[name] for name in names) for row in rows] == [
        (ids[0], 1, 80, 0, 80, 0, 80 * 4096),
        (ids[0], 2, 1, 1, 0, 64 * 512, 0),
        (ids[1], 2, 4, 0, 1, 0, 512),
    ], "a write through the cache is followed by a flush, and each range is a trim"
    assert sum(row["requests"] for row in rows) == stats["host"]["requests"]
    assert sum(row["written_bytes"] for row in rows) == stats["host"]["written_sectors"] * 512
    assert rows[1]["write_latency_us"] is None
    assert rows[1]["read_latency_us"]["mean"] == rows[1]["read_latency_us"]["p99"] > 0
    assert rows[1]["read_latency_us"]["mean"] == stats["latency_us"]["read"]["mean"]
    assert stats["queues"]["others"] is stats["handles"] is None
    assert record["queues"] == stats["queues"]
    label = f'controller="{ids[1]}",queue="2"'
    lines = metrics.splitlines()
    assert f"nandlab_queue_requests_total{{{label}}} 4" in lines
    assert f"nandlab_queue_written_bytes_total{{{label}}} 512" in lines
    p99 = rows[2]["write_latency_us"]["p99"]
    assert f'nandlab_queue_latency_us{{{label},op="write",of="p99"}} {p99:g}' in lines
    assert [line.split()[:3] for line in text.splitlines() if line.split()[1:3] == ["2", "4"]] == [
        [str(ids[1]), "2", "4"]
    ]


def test_a_drive_is_for_this_machine_alone(nandlab_command, image):
    ended = nandlab_command("disk", "serve", image, "--nvme", "0.0.0.0:4420")
    assert ended.status == 1
    assert "0.0.0.0:4420 is no loopback address" in ended.err
    with served(image, "--read-only") as (_, address, nqn):
        controller = Controller(address, nqn)
        controller.feature(7, 0)
        assert controller.identify(0, 1)[99] == 1
        controller.feature(0x0B, 1 << 3)
        controller.socket.sendall(
            controller.start(controller.entry(0x0C)) + controller.start(controller.entry(0x0C))
        )
        first = controller.step()
        assert controller.done.pop(first) == (0, 0x020001), "reliability: the health log tells more"
        controller.socket.sendall(controller.start(controller.entry(0x18)))
        assert controller.step() == first + 2, "a warning is told once"
        assert controller.log(2, 512)[0] == 1 << 3
        assert status(controller.queue(1).write, 0, bytes(512)) == 0x182
