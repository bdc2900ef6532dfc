"""Data placement by NVMe over TCP: a host of its own against a drive with reclaim units in an image."""

import random
import struct

import pytest
from nvme_initiator import Controller
from test_nvme import served, status

PAGE, UNIT_PAGES = 4096, 32
SETS = {
    "device.capacity": "4MiB",
    "device.over_provisioning": "1.0",
    "device.shape.channels": "2",
    "device.shape.pages_per_block": "16",
    "ftl.page.placement.fdp": "{ handles = 3, persistent = [2], groups = 2, unit_blocks = 2 }",
}
BLOCKS = (4 << 20) // 512
# Two groups take one bit of an identifier, its upper one.
FIRST, OTHER_GROUP = 0, 1 << 15


def create(nandlab_command, image, **others):
    values = {**SETS, **others}
    if "ftl" in others:
        del values["ftl.page.placement.fdp"]
    sets = [part for key, value in values.items() for part in ("--set", f"{key}={value}")]
    made = nandlab_command("disk", "create", image, *sets)
    assert made.status == 0, made.err
    return image


@pytest.fixture
def image(nandlab_command, tmp_path):
    return create(nandlab_command, tmp_path / "placed.img")


def opened(address, nqn):
    controller = Controller(address, nqn)
    controller.feature(7, 0)
    return controller, controller.queue(1)


def statistics(controller):
    """Bytes that the host wrote, that flash programmed, and that it erased."""
    return struct.unpack("<Q8xQ8xQ24x", controller.log(0x22, 64, group=1))


def test_the_drive_says_how_it_places(image):
    with served(image) as (_, address, nqn):
        controller, queue = opened(address, nqn)
        drive, namespace = controller.identify(1), controller.identify(0, 1)
        (attributes,) = struct.unpack_from("<I", drive, 96)
        assert attributes == 1 << 19 | 1 << 4
        assert struct.unpack_from("<H", drive, 340) == struct.unpack_from("<H", namespace, 102) == (1,)
        assert struct.unpack_from("<H", controller.identify(8, 1), 12) == (1,)
        assert struct.unpack_from("<HHH", controller.identify(0x19)) == (1, 1, 0)
        assert controller.ask(controller.entry(0x0A, [(40, "I", 0x1D), (44, "I", 1)]))[0] == 1, (
            "it is on, with configuration 0"
        )
        head = 16 + 64
        found = controller.log(0x20, head + 3 * 4, group=1)
        assert struct.unpack_from("<HBxI8x", found) == (0, 0, head + 12)
        length, attributes, groups, handles, most, namespaces, unit = struct.unpack_from(
            "<HBxIHHIQ", found, 16
        )
        assert (length, attributes, groups, handles) == (64 + 12, 1 << 7 | 1, 2, 3)
        assert (most, namespaces, unit) == (127, 1, UNIT_PAGES * PAGE)
        assert list(found[head::4]) == [1, 1, 2], "initially and persistently isolated"
        usage = controller.log(0x21, 8 + 3 * 8, group=1)
        assert (usage[0], list(usage[8::8])) == (3, [1, 1, 1])
        listed = [(handle | group << 15, handle) for handle in range(3) for group in range(2)]
        assert queue.handles() == [(*one, UNIT_PAGES * 8) for one in listed]
        assert len(queue.handles(room=16 + 32)) == 1
        effects = controller.log(5, 4096)
        assert [effects[1024 + opcode * 4] for opcode in (0x12, 0x1D)] == [1, 1]
        for log in (9, 0x20, 0x21, 0x22, 0x23):
            assert controller.log(0, 1024)[log * 4] == 1


def test_statistics_and_handles_equal_the_disks(image, nandlab_command):
    draw, written = random.Random(19), 0
    with served(image) as (_, address, nqn):
        controller, queue = opened(address, nqn)
        for number in range(500):
            # The first handle has the first half, a handle of the other group the second half.
            half = number % 2
            block = half * BLOCKS // 2 + draw.randrange(BLOCKS // 2 // 64) * 64
            queue.place(block, bytes([number % 251]) * (64 * 512), [FIRST, OTHER_GROUP | 2][half])
            written += 64 * 512
        queue.place(0, bytes(PAGE), 1)
        queue.place(0, bytes(PAGE), 77)
        queue.write(8, bytes(PAGE))
        queue.update([1, OTHER_GROUP])
        queue.flush()
        host, media, erased = statistics(controller)
        left = queue.handles()
        group = controller.log(9, 512, group=1)
        stats = nandlab_command("disk", "stats", image, "--json").document
    fdp, flash, total = stats["fdp"], stats["flash"], stats["in_all"]
    by_handle = fdp["handles"]
    assert [one["host_pages"] for one in by_handle] == [250 * 8 + 2, 1, 250 * 8]
    assert sum(one["host_pages"] for one in by_handle) * PAGE == host == written + 3 * PAGE
    assert host == stats["host"]["written_sectors"] * 512 == total["host"]["written_sectors"] * 512
    assert media == flash["programs"] * PAGE == total["flash"]["programs"] * PAGE
    moved = sum(one["moved_pages"] for one in by_handle)
    assert media == host + moved * PAGE, "no trims, so the FTL writes no pages of its own"
    assert moved > 0
    assert erased == flash["erases"] * 16 * PAGE
    assert erased >= fdp["erased_units"] * UNIT_PAGES * PAGE > 0
    assert [blocks for _, _, blocks in left] == [
        fdp["pages_left"][number >> 15][handle] * 8 for number, handle, _ in left
    ]
    rows = {(row["group"], row["handle"]): row for row in stats["handles"]["rows"]}
    # The unknown identifier went through handle 0 of group 0. Each update is a request.
    assert {who: (row["requests"], row["writes"], row["written_bytes"]) for who, row in rows.items()} == {
        (0, 0): (251, 251, 250 * 64 * 512 + PAGE),
        (1, 2): (250, 250, 250 * 64 * 512),
        (0, 1): (2, 1, PAGE),
        (1, 0): (1, 0, 0),
        (None, None): (2, 1, PAGE),
    }
    assert rows[1, 2]["write_latency_us"]["p99"] >= rows[1, 2]["write_latency_us"]["mean"] > 0
    assert [row["requests"] for row in stats["queues"]["rows"]] == [stats["host"]["requests"]]
    assert fdp["invalid_identifiers"] == 1
    assert [one["unfilled_units"] for one in by_handle] == [1, 1, 0]
    assert struct.unpack_from("<Q", group, 64) == (1,), "less than a thousand million bytes"
    assert nandlab_command("disk", "check", image).status == 0


def test_the_counts_go_on_when_the_drive_serves_again(image):
    with served(image) as (_, address, nqn):
        controller, queue = opened(address, nqn)
        queue.place(0, bytes(64 * 512), 1)
        queue.flush()
        before = statistics(controller)
    with served(image) as (_, address, nqn):
        host, media, erased = statistics(opened(address, nqn)[0])
    assert (host, before[0]) == (64 * 512, 64 * 512)
    assert media >= before[1]
    assert erased >= before[2]


def zero(queue, block, blocks, identifier, kind=2):
    fields = [(40, "Q", block), (48, "I", blocks - 1 | kind << 20), (54, "H", identifier)]
    queue.ask(queue.entry(8, fields, namespace=1))


def test_zeros_and_updates_have_their_handle(image, nandlab_command):
    with served(image) as (_, address, nqn):
        _, queue = opened(address, nqn)
        whole = UNIT_PAGES * 8
        queue.place(0, b"x" * PAGE, 1)
        zero(queue, 64, 24, 1)
        assert {number: left for number, _, left in queue.handles()}[1] == whole - 4 * 8
        queue.update([1])
        assert queue.handles()[2] == (1, 1, whole)
        queue.handles(operation=1)
        assert queue.read(64, 24) == bytes(24 * 512)
        assert queue.read(0, 8) == b"x" * PAGE
        handles = nandlab_command("disk", "stats", image, "--json").document["fdp"]["handles"]
    assert [(one["host_pages"], one["unfilled_units"]) for one in handles] == [(0, 0), (4, 1), (0, 0)]


UNFILLED, INVALID_IDENTIFIER, MOVED, ENDED = 0x00, 0x03, 0x80, 0x81
KINDS = [UNFILLED, INVALID_IDENTIFIER, MOVED, ENDED]
WITHOUT_LOCATION, WHOLE = 3, 7
"""An event's flags: identifier and namespace are valid, and the location."""


def test_events_are_logged_if_they_are_wanted_for_the_handle(image):
    with served(image) as (_, address, nqn):
        controller, queue = opened(address, nqn)
        assert controller.wanted_events(2) == dict.fromkeys(KINDS, 0), "none is wanted at first"
        queue.place(0, bytes(PAGE), 1)
        queue.update([1])
        controller.want_events(1, [UNFILLED, ENDED], room=255)
        controller.want_events(0, [INVALID_IDENTIFIER])
        assert controller.wanted_events(1) == {UNFILLED: 1, INVALID_IDENTIFIER: 0, MOVED: 0, ENDED: 1}
        assert controller.wanted_events(1, room=1) == {UNFILLED: 1}
        assert controller.placement_events(of_host=True) == [], "what came before it was wanted is not told"
        queue.place(0, bytes(PAGE), 1)
        queue.update([1, OTHER_GROUP | 1])
        queue.place(0, bytes(PAGE), 2)
        queue.update([2])
        queue.place(0, bytes(PAGE), 77)
        queue.place(0, bytes(PAGE), OTHER_GROUP | 3)
        told = controller.placement_events(of_host=True)
        assert [(*event[:3], *event[4:]) for event in told] == [
            (UNFILLED, WHOLE, 1, 1, 0, 0, 1),
            (UNFILLED, WHOLE, OTHER_GROUP | 1, 1, 0, 1, 1),
            (INVALID_IDENTIFIER, WITHOUT_LOCATION, 77, 1, 0, 0, 0),
            (INVALID_IDENTIFIER, WITHOUT_LOCATION, OTHER_GROUP | 3, 1, 0, 0, 0),
        ]
        times = [event[3] for event in told]
        assert times == sorted(times)
        assert times[-1] < 60_000, "milliseconds since the opening"
        assert controller.placement_events(of_host=False) == []
        # A unit of the handle is full, and its next page begins another one.
        for page in range(2 * UNIT_PAGES + 1):
            queue.place(page * 8, bytes(PAGE), 1)
        assert [(*event[:3], *event[4:]) for event in controller.placement_events(of_host=False)] == [
            (ENDED, WHOLE, 1, 1, 0, 0, 1)
        ] * 2
        controller.want_events(1, [UNFILLED, ENDED], on=False)
        queue.update([1])
        assert controller.placement_events(of_host=True) == told, "it is kept, and grows no more"
        # Another controller reads the same log.
        assert Controller(address, nqn).placement_events(of_host=True) == told


def test_moved_pages_are_told_and_the_log_keeps_the_newest_events(image, nandlab_command):
    draw, heard, seen = random.Random(23), [], []
    with served(image) as (_, address, nqn):
        controller, queue = opened(address, nqn)
        for handle in (0, 2):
            controller.want_events(handle, [MOVED, ENDED])
        for number in range(900):
            half = number % 2
            block = half * BLOCKS // 2 + draw.randrange(BLOCKS // 2 // 64) * 64
            queue.place(block, bytes(64 * 512), [FIRST, OTHER_GROUP | 2][half])
            now = controller.placement_events(of_host=False)
            # The log moves on: what it shares with the log before is at its beginning.
            kept = next(
                count for count in range(len(now), -1, -1) if now[:count] == seen[len(seen) - count :]
            )
            new = len(now) - kept
            heard += now[len(now) - new :]
            seen = now
        assert len(now) == 63 < len(heard)
        fdp = nandlab_command("disk", "stats", image, "--json").document["fdp"]
    for handle, identifier, group in [(0, FIRST, 0), (2, OTHER_GROUP | 2, 1)]:
        mine = [event for event in heard if event[7] == handle]
        assert {(event[2], event[6]) for event in mine} == {(identifier, group)}
        counts = fdp["handles"][handle]
        moved = sum(event[5] for event in mine if event[0] == MOVED)
        # A block that is being emptied on each of two dies has told nothing yet.
        assert 0 < moved <= counts["moved_pages"] * 8 < moved + 2 * 16 * 8
        assert sum(event[0] == ENDED for event in mine) == counts["units"] - 1


REFUSED = [
    ("another directive", lambda controller, queue: queue.place(0, bytes(512), 0, kind=1), 0x002),
    ("a directive without meaning", lambda controller, queue: queue.place(0, bytes(512), 0, kind=3), 0x002),
    ("zeros with one", lambda controller, queue: zero(queue, 0, 8, 0, kind=1), 0x002),
    ("blocks beyond the end", lambda controller, queue: queue.place(BLOCKS, bytes(512), 0), 0x080),
    ("an unknown handle", lambda controller, queue: queue.update([3]), 0x002),
    ("one of several", lambda controller, queue: queue.update([0, OTHER_GROUP | 3]), 0x002),
    ("129 handles", lambda controller, queue: queue.update([0] * 129), 0x002),
    ("another operation", lambda controller, queue: queue.update([0], operation=2), 0x002),
    ("another status", lambda controller, queue: queue.handles(operation=2), 0x002),
    ("no room for the head", lambda controller, queue: queue.handles(room=12), 0x002),
    ("another group's log", lambda controller, queue: controller.log(0x22, 64, group=2), 0x002),
    ("no group's log", lambda controller, queue: controller.log(0x20, 64), 0x002),
    ("to turn it off", lambda controller, queue: controller.feature(0x1D, 1), 0x00C),
    ("events of an unknown handle", lambda controller, queue: controller.want_events(3, [MOVED]), 0x002),
    ("its kinds", lambda controller, queue: controller.wanted_events(3), 0x002),
    ("an unknown kind", lambda controller, queue: controller.want_events(0, [MOVED, 0x01]), 0x002),
    (
        "no namespace",
        lambda controller, queue: controller.want_events(0, [MOVED], namespace=2**32 - 1),
        0x00B,
    ),
    ("another group's feature", lambda controller, queue: controller.feature(0x1D, 2), 0x002),
]


def test_refusals_change_nothing(image, nandlab_command):
    with served(image) as (_, address, nqn):
        controller, queue = opened(address, nqn)
        for what, work, wanted in REFUSED:
            assert status(work, controller, queue) == wanted, what
        assert {left for _, _, left in queue.handles()} == {UNIT_PAGES * 8}
        assert set(controller.wanted_events(0).values()) == {0}
        fdp = nandlab_command("disk", "stats", image, "--json").document["fdp"]
    assert fdp["invalid_identifiers"] == 0
    assert [one["unfilled_units"] for one in fdp["handles"]] == [0, 0, 0]


def test_a_drive_without_placement_refuses_all_of_it(nandlab_command, tmp_path):
    with served(create(nandlab_command, tmp_path / "plain.img", ftl="page")) as (_, address, nqn):
        controller, queue = opened(address, nqn)
        assert struct.unpack_from("<I", controller.identify(1), 96) == (0,)
        assert struct.unpack_from("<H", controller.identify(0, 1), 102) == (0,)
        assert status(controller.identify, 0x19) == 0x002
        assert status(controller.wanted_events, 0) == status(controller.want_events, 0, [0]) == 0x002
        for log in (9, 0x20, 0x21, 0x22, 0x23):
            assert status(controller.log, log, 64, group=1) == 0x109
        assert status(controller.feature, 0x1D) == status(controller.feature, 0x1D, 1) == 0x002
        assert status(queue.place, 0, bytes(512), 0) == 0x002
        assert status(queue.handles) == status(queue.update, [0]) == 0x001
