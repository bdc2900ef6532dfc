"""Zones by NVMe over TCP: a host of its own against a zoned drive in an image, and a model."""

import os
import random
import struct
import threading

import pytest
from nvme_initiator import Controller, Ended, Failed
from nvme_zone_model import CLOSE, CLOSED, COMMIT, EMPTY, FINISH, FULL, OPEN, RESET, Refused, Shape, Zones
from test_nvme import served, status

SETS = {
    "ftl": "zns",
    "device.capacity": "1MiB",
    "device.over_provisioning": "1.5",
    "device.shape.pages_per_block": "16",
    "device.zones.blocks_per_die": "1",
    "device.zones.capacity": "56KiB",
    "device.zones.size": "64KiB",
    "device.zones.max_open": "3",
    "device.zones.max_active": "5",
    "device.zones.random_write_area": "16KiB",
    "device.zones.commit_granularity": "8KiB",
    "device.zones.max_random_write_areas": "2",
}
SHAPE = Shape(16, 128, 112, max_open=3, max_active=5, area=32, step=16, max_areas=2)
BLOCKS = 16 * 128
KILLS = int(os.environ.get("NANDLAB_ZONE_KILLS", "0"))
ACTIONS = [CLOSE, FINISH, OPEN, OPEN, RESET]


def sets(**others):
    values = {**SETS, **others}
    return [part for key, value in values.items() for part in ("--set", f"{key}={value}")]


@pytest.fixture
def image(nandlab_command, tmp_path):
    path = tmp_path / "zones.img"
    made = nandlab_command("disk", "create", path, *sets())
    assert made.status == 0, made.err
    return path


def opened(address, nqn):
    controller = Controller(address, nqn)
    controller.feature(7, 0)
    return controller, controller.queue(1)


def draw_request(draw, zones):
    """A request as (call, arguments, data's place): most of them fit, some do not."""
    number = draw.randrange(6) if draw.random() < 0.9 else draw.randrange(16)
    zone, start = zones.all[number], number * zones.size
    kind = draw.random()
    data = draw.randbytes(32) * (16 * draw.choice([1, 1, 3, 8, 8, 16, 17, 40]))
    if kind < 0.45:
        at = min(zone.pointer, zones.capacity - 1)
        if zone.has_area:
            at = max(0, min(at + draw.randrange(-2, 34), zones.capacity - 1))
        elif draw.random() < 0.1:
            at = draw.randrange(zones.size)
        return "write", (start + at, data)
    if kind < 0.6:
        return "append", (start + (draw.random() < 0.05), data)
    if kind < 0.78:
        return "change", (start + (draw.random() < 0.05), draw.choice(ACTIONS), False)
    if kind < 0.86:
        return "change", (start, OPEN, True)
    if kind < 0.98:
        last = start + zone.pointer + draw.choice([7, 15, 15, 15, 31])
        return "change", (min(last, BLOCKS - 1), COMMIT, False)
    return "change_all", (draw.choice(ACTIONS),)


def carry_out(queue, call, arguments):
    """A request's result, or the status that refuses it."""
    try:
        if call == "change_all":
            return queue.change(0, arguments[0], to_all=True)
        if call == "change":
            block, action, with_area = arguments
            return queue.change(block, action, with_area=with_area)
        return getattr(queue, call)(*arguments)
    except Failed as failed:
        return Refused(failed.status)


def expected(zones, call, arguments):
    try:
        return getattr(zones, call)(*arguments)
    except Refused as refused:
        return refused


def same(found, wanted):
    if isinstance(wanted, Refused):
        return isinstance(found, Refused) and found.status == wanted.status
    return found == wanted


def test_a_thousand_random_requests_to_zones_against_a_model(image, nandlab_command):
    zones, draw, refusals = Zones(SHAPE), random.Random(7), set()
    with served(image) as (_, address, nqn):
        _, queue = opened(address, nqn)
        for _ in range(1000):
            call, arguments = draw_request(draw, zones)
            wanted = expected(zones, call, arguments)
            found = carry_out(queue, call, arguments)
            assert same(found, wanted), (call, arguments[0], found, wanted)
            if isinstance(wanted, Refused):
                refusals.add(wanted.status)
            assert queue.report()[1] == zones.report(), (call, arguments[0])
            number = draw.randrange(16)
            assert queue.read(number * 128, 112) == zones.all[number].data, number
    assert refusals == {0x002, 0x1B6, 0x1B7, 0x1B8, 0x1B9, 0x1BC, 0x1BD, 0x1BE, 0x1BF}, "every rule is met"
    assert nandlab_command("disk", "check", image).status == 0


def test_what_a_zoned_drive_says_about_itself(image):
    with served(image) as (_, address, nqn):
        controller, queue = opened(address, nqn)
        assert struct.unpack_from("<Q", controller.identify(0, 1)) == (BLOCKS,)
        assert controller.identify(3, 1)[40:45] == b"\x04\x01\0\0\x02", "the command set for zones"
        assert controller.identify(0x1C)[0] == 5
        assert controller.identify(7, 0, 2)[0] == 1 and controller.identify(7, 0, 0)[0] == 0
        described = controller.identify(5, 1, 2)
        assert struct.unpack_from("<HHII", described) == (0, 3, 4, 2), "limits count from 0"
        assert struct.unpack_from("<IHHB", described, 44) == (1, 16, 32, 1)
        assert struct.unpack_from("<QB", described, 2816) == (128, 0)
        assert controller.identify(6, 0, 2)[0] == 8, "appends of 1 MiB"
        entry = controller.entry(2, [(40, "I", 5 | 1023 << 16), (56, "I", 2 << 24)])
        effects = controller.ask(entry, length=4096)[1]
        assert [effects[1024 + 4 * opcode] for opcode in (0x79, 0x7A, 0x7D, 0x09)] == [3, 1, 3, 0]
        for block in (0, 128, 256):
            queue.append(block, bytes(512))
        queue.change(256, FINISH)
        assert queue.report(room=64 + 128)[0] == 16
        assert queue.report(room=64 + 128, partial=True) == (2, queue.report()[1][:2])
        number, full = queue.report(select=5)
        assert number == 1 and full[0][0] == FULL
        assert queue.report(block=300)[0] == 14, "from the zone that holds the block on"
        assert queue.report(select=7) == (0, [])


def test_refusals_of_zone_commands(image):
    with served(image) as (_, address, nqn):
        _, queue = opened(address, nqn)
        assert status(queue.report, BLOCKS) == 0x080
        assert status(queue.report, action=1) == 0x002, "there are no descriptor extensions"
        assert status(queue.report, room=60) == 0x002
        assert status(queue.report, select=8) == 0x002
        assert status(queue.change, BLOCKS, RESET) == 0x080
        assert status(queue.change, 0, 0x10) == 0x002
        assert status(queue.change, 0, 5) == 0x1BF, "no zone goes offline"
        assert status(queue.append, 0, bytes(113 * 512)) == 0x1B8
        assert status(queue.trim, [(0, 8)]) == 0x001
        assert status(queue.zero, 0, 4096) == 0x002
        queue.append(0, b"a" * 4096)
        queue.zero(8, 8)
        assert status(queue.zero, 8, 8) == 0x1BC
        assert queue.read(0, 24) == b"a" * 4096 + bytes(8192)
        assert queue.report()[1][0][4] == 16
        assert queue.report()[1][1][0] == EMPTY, "a refusal opens nothing"


def test_a_size_that_no_host_takes_is_refused(nandlab_command, tmp_path):
    for size, wanted in (("56KiB", "64 KiB"), ("72KiB", "128 KiB")):
        made = nandlab_command("disk", "create", tmp_path / "no.img", *sets(**{"device.zones.size": size}))
        assert made.status != 0
        assert f'device.zones.size = "{wanted}"' in made.err
    assert not (tmp_path / "no.img").exists()


def test_zones_go_with_nvme_alone(nandlab_command, image, tmp_path):
    ended = nandlab_command("disk", "serve", image, "--nbd", tmp_path / "socket")
    assert ended.status == 1
    assert "serve it by --nvme" in ended.err


class Kept:
    """What survives a kill in a zone at least, and at most."""

    def __init__(self, zone):
        self.least, self.pointer, self.data = zone.pointer, zone.pointer, bytes(zone.data)

    def fits(self, pointer, data):
        end = pointer * 512
        return self.least <= pointer <= self.pointer and data[:end] == self.data[:end]


def write_until_killed(draw, zones, queue, floors):
    """Requests until the process ends; the zones that the last one concerns, as they were before it."""
    while True:
        call, arguments = draw_request(draw, zones)
        numbers = range(16) if call == "change_all" else [arguments[0] // 128]
        before = {number: Kept(zones.all[number]) for number in numbers}
        wanted = expected(zones, call, arguments)
        for number in numbers:
            floors[number] = min(floors[number], zones.all[number].pointer)
        try:
            assert same(carry_out(queue, call, arguments), wanted)
            before = {}
            if draw.random() < 0.1:
                queue.flush()
                floors[:] = [zone.pointer for zone in zones.all]
        except (Ended, OSError):
            return before


def adopt(zones, queue, floors, before):
    """Compares what a kill has left, and goes on from there."""
    zones.opened.clear()
    for number, (state, attributes, _, _, pointer) in enumerate(queue.report()[1]):
        zone, data = zones.all[number], queue.read(number * 128, 112)
        at = 112 if state == FULL else pointer - number * 128
        now = Kept(zone)
        now.least = floors[number]
        allowed = [now]
        if number in before:
            before[number].least = min(floors[number], before[number].least)
            allowed.append(before[number])
        assert any(one.fits(at, data) for one in allowed), (number, at, floors[number], zone.pointer)
        assert state in (EMPTY, CLOSED, FULL), "open zones are closed"
        assert at == 0 if state == EMPTY else state == CLOSED or at == 112
        zone.state, zone.pointer, zone.has_area = state, at, bool(attributes & 8)
        zone.data = bytearray(data)


# Each kill takes a third of a second, so `make test-kill` asks for 100 of them and `make test` for none.
@pytest.mark.skipif(KILLS == 0, reason="part of make test-kill")
def test_kills_under_writes_leave_zones_as_power_cuts_do(image, nandlab_command):
    zones, draw = Zones(SHAPE), random.Random(13)
    before, floors = {}, [0] * 16
    for kill in range(KILLS + 1):
        with served(image) as (started, address, nqn):
            _, queue = opened(address, nqn)
            adopt(zones, queue, floors, before)
            floors = [zone.pointer for zone in zones.all]
            if kill == KILLS:
                break
            drained = threading.Thread(target=started.communicate)
            drained.start()
            killer = threading.Timer(draw.uniform(0.01, 0.5), started.kill)
            killer.start()
            before = write_until_killed(draw, zones, queue, floors)
            killer.join()
            drained.join()
    assert nandlab_command("disk", "check", image).status == 0
