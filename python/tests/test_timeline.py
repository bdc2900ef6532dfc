"""Timelines, read back by Perfetto's own schema: what each part of the device did, to the nanosecond."""

import collections
import itertools
import subprocess
import sys
from dataclasses import dataclass, field

import pytest

import nandlab

trace_pb2 = pytest.importorskip("perfetto.protos.perfetto.trace.perfetto_trace_pb2")

EVENT = trace_pb2.TrackEvent
MIXED = """
[workload.zipf]
requests = 1500
read_share = 0.4
size = "8 KiB"
[precondition]
fill = "random"
overwrites = 1
[ftl.page]
[device]
capacity = "24 MiB"
over_provisioning = 0.3
[host]
queue_depth = 8
"""
SHAPE = "device.shape={channels=2,dies_per_channel=2,planes_per_die=2,pages_per_block=32}"
SUSPEND = "device.timing.suspend={suspend_us=20,resume_us=30,most_reads=4,programs=true}"
PATH = "device.controller={latency_us=5,write_command_us=2,write_buffer_bytes=32768}"


@dataclass
class Slice:
    """What is told about a slice."""

    name: str
    cause: str
    start: int
    end: int = 0
    flows: tuple = ()
    annotations: dict = field(default_factory=dict)


class Trace:
    """A trace as Perfetto reads it: in the order of times, slices nested by their ends."""

    def __init__(self, path):
        trace = trace_pb2.Trace()
        trace.ParseFromString(path.read_bytes())
        self.tracks, self.slices, self.counters = (
            {},
            collections.defaultdict(list),
            collections.defaultdict(list),
        )
        tables = {}
        for packet in trace.packet:
            assert packet.trusted_packet_sequence_id == 1
            for table, names in packet.interned_data.ListFields():
                assert packet.sequence_flags == packet.SEQ_INCREMENTAL_STATE_CLEARED
                text = "str" if table.name == "debug_annotation_string_values" else "name"
                tables[table.name] = {one.iid: getattr(one, text) for one in names}
            if packet.HasField("track_descriptor"):
                assert packet.track_descriptor.uuid not in self.tracks
                self.tracks[packet.track_descriptor.uuid] = packet.track_descriptor
        events = [packet for packet in trace.packet if packet.HasField("track_event")]
        self.events = len(events)
        opened = collections.defaultdict(list)
        for packet in sorted(events, key=lambda packet: packet.timestamp):
            event, at = packet.track_event, packet.timestamp
            assert event.track_uuid in self.tracks
            if event.type == EVENT.TYPE_COUNTER:
                value = event.double_counter_value or event.counter_value
                self.counters[self.path(event.track_uuid)].append((at, value))
            elif event.type == EVENT.TYPE_SLICE_BEGIN:
                assert not opened[event.track_uuid], "the slices of a track do not overlap"
                one = Slice(tables["event_names"][event.name_iid], "", at, flows=tuple(event.flow_ids))
                one.cause = tables["event_categories"][event.category_iids[0]]
                for note in event.debug_annotations:
                    texts = tables["debug_annotation_string_values"]
                    is_number = note.HasField("uint_value")
                    value = note.uint_value if is_number else texts[note.string_value_iid].decode()
                    one.annotations[tables["debug_annotation_names"][note.name_iid]] = value
                opened[event.track_uuid].append(one)
                self.slices[self.path(event.track_uuid)].append(one)
            else:
                assert event.type == EVENT.TYPE_SLICE_END
                opened[event.track_uuid].pop().end = at
        assert not any(opened.values())

    def path(self, track):
        """A track's names from the root, `/` between them; a lane has its parent's."""
        names = []
        while track in self.tracks and self.tracks[track].parent_uuid:
            names.append(self.tracks[track].name)
            track = self.tracks[track].parent_uuid
        return "/".join(reversed(names))

    def named(self, word):
        """The tracks whose last name begins so, by their number."""
        found = {}
        for track, descriptor in self.tracks.items():
            first, _, number = descriptor.name.partition(" ")
            if first == word and number.isdigit():
                found[int(number)] = self.path(track)
        return [found[number] for number in sorted(found)]

    def busy(self, tracks):
        """The length of all slices of each track, ns."""
        return [sum(one.end - one.start for one in self.slices[track]) for track in tracks]

    def below(self, word):
        """The slices of all tracks of that name."""
        return [one for track in self.named(word) for one in self.slices[track]]


def traced(tmp_path, *sets, text=MIXED, window=None):
    experiment = nandlab.Experiment.from_toml(write(tmp_path / "experiment.toml", text), [SHAPE, *sets])
    target = tmp_path / "run.perfetto"
    result = experiment.run(timeline=target, timeline_window=window)
    return result, Trace(target)


def write(path, text):
    path.write_text(text, encoding="utf-8")
    return path


def ns(busy_us):
    return [round(1000 * us) for us in busy_us]


DEVICES = {
    "copies over the bus": ["device.timing.copy=external"],
    "copyback": ["device.timing.copy=copyback"],
    "planes that program together": ["device.timing.plane_overlap=multi_plane", "ftl.page.stripe=planes"],
    "planes that work alone": ["device.timing.plane_overlap=independent"],
    "erases that stop for reads": [SUSPEND],
    "both": [SUSPEND, "device.timing.plane_overlap=multi_plane", "ftl.page.stripe=planes"],
    "a cache and suspends": [
        SUSPEND,
        "device.timing.read_cache=true",
        "device.timing.read_first=true",
        PATH,
    ],
    "slices": [
        "device.timing.suspend={suspend_us=20,resume_us=30,most_reads=4,programs=true,slice_us=200}",
    ],
    "dftl": ["ftl=dftl"],
    "superpage": ["ftl=superpage"],
    "fast": ["ftl=fast"],
    "a buffer": ["buffer.lru.size=64 KiB"],
    "bit errors and retries": ["device.faults={bit_errors={rber=1e-5,ecc_bits=8}}"],
}


@pytest.mark.parametrize("name", DEVICES)
def test_slices_sum_to_the_busy_times_of_the_record(tmp_path, name):
    sets = DEVICES[name]
    result, trace = traced(tmp_path, *sets)
    units = "plane" if any("independent" in one for one in sets) else "die"
    tracks = trace.named(units)
    busy = trace.busy(tracks)
    if any("read_cache" in one for one in sets):
        caches = trace.busy([f"{track}/{track.rpartition('/')[2]} transfers" for track in tracks])
        assert all(caches)
        busy = [array + cache for array, cache in zip(busy, caches, strict=True)]
    assert busy == ns(result.parts.dies.busy_us)
    assert trace.busy(trace.named("channel")) == ns(result.parts.channels.busy_us)
    assert len(busy) == (8 if units == "plane" else 4)
    assert min(busy) > 0


def test_every_operation_has_its_cause_origin_and_page(tmp_path):
    result, trace = traced(tmp_path)
    found = set()
    for one in trace.below("die"):
        notes = one.annotations
        assert notes["cause"] == one.cause
        # An operation that waits for its channel has two slices; a copy between two dies is on both.
        found.add((one.name, one.cause, notes["origin"], notes["block"], notes.get("page"), notes["request"]))
    counted = {(row.origin, row.cause): row for row in result.matrix}
    of = collections.Counter()
    for (name, cause, origin), number in collections.Counter(each[:3] for each in found).items():
        row = counted[origin, cause]
        most = {"read": row.reads, "program": row.programs, "copy": row.programs}
        assert number <= most.get(name, result.flash.erases)
        of[name] += number
    assert of["program"] + of["copy"] == result.flash.programs
    assert of["erase"] == result.flash.erases


def test_requests_have_their_latencies_and_the_queue_its_depth(tmp_path):
    result, trace = traced(tmp_path)
    requests = trace.slices["host queue/requests"]
    assert [one.annotations["request"] for one in requests] == list(range(1, 1501))
    longest = max(requests, key=lambda one: (one.end - one.start, -one.annotations["request"]))
    told = result.longest_request
    assert (longest.annotations["request"], longest.name) == (told.number, told.op)
    assert longest.end - longest.start == round(1000 * told.latency_us)
    reads = [one.end - one.start for one in requests if one.name == "read"]
    assert len(reads) == result.latency_us.read.count
    assert sum(reads) // len(reads) == round(1000 * result.latency_us.read.mean)
    depth = trace.counters["host queue/queue depth"]
    assert max(value for _, value in depth) == 8
    assert depth[-1] == (max(one.end for one in requests), 0)
    area = sum(value * (after - at) for (at, value), (after, _) in itertools.pairwise(depth))
    assert area == sum(one.end - one.start for one in requests)
    assert area / (1000 * result.time_us) == pytest.approx(result.in_flight)


def test_counters_end_where_the_record_ends(tmp_path):
    result, trace = traced(tmp_path)
    at, free = trace.counters["free blocks"][-1]
    assert (at, free) == (round(1000 * result.time_us), result.blocks.free)
    assert trace.counters["WAF"][-1][1] == pytest.approx(result.waf, rel=1e-12)
    assert len(trace.counters["free blocks"]) > 50


def flows(slices):
    """By number: the slices that have it."""
    found = collections.defaultdict(list)
    for one in slices:
        for flow in one.flows:
            found[flow].append(one)
    return found


@pytest.mark.parametrize("name", ["copies over the bus", "copyback", "dftl", "planes that program together"])
def test_arrows_lead_from_a_request_to_its_operations_and_to_what_they_waited_for(tmp_path, name):
    _, trace = traced(tmp_path, *DEVICES[name])
    operations = trace.below("die")
    requests = {one.annotations["request"]: one for one in trace.slices["host queue/requests"]}
    collections_ = trace.slices["collections/collections"]
    ends = flows(operations)
    waited = {"host", "read_modify_write", "map"}
    reached = collections.Counter()
    for number, request in requests.items():
        assert len(request.flows) == request.annotations["operations"]
        for flow in request.flows:
            (one, *rest) = ends[flow]
            assert one.annotations["request"] == number
            assert one.cause in waited
            assert request.start <= one.start
            # A copy between two dies is on both.
            assert not rest
            reached[number] += 1
    # The upper two bits tell whose arrow it is.
    of_requests = {flow for flow in ends if flow >> 62 == 1}
    assert sum(reached.values()) == len(of_requests) > 1000
    others = set(ends) - {flow for one in (*requests.values(), *collections_) for flow in one.flows}
    assert len(others) > 50
    for flow in others:
        before, after = ends[flow]
        assert before.end == after.start
        assert after.cause in waited


def test_arrows_lead_from_a_collection_to_its_copies_and_erase(tmp_path):
    result, trace = traced(tmp_path)
    found = trace.slices["collections/collections"]
    ends = flows(trace.below("die"))
    copies = erases = 0
    for one in found:
        block = one.annotations["block"]
        operations = [each for flow in one.flows for each in ends[flow]]
        assert len(one.flows) == one.annotations["operations"]
        assert one.start == min(each.start for each in operations)
        assert one.end >= max(each.start for each in operations)
        for each in operations:
            assert each.cause == one.cause == "gc"
            if each.name == "erase":
                assert each.annotations["block"] == block
                erases += 1
            else:
                assert each.name == "copy"
                assert each.annotations["from_page"] // 32 == block
                copies += 1
    assert erases == len([one for one in trace.below("die") if (one.name, one.cause) == ("erase", "gc")]) > 10
    # A copy between two dies has a slice on each.
    assert copies >= result.flash.copies > 100


def test_a_window_shows_its_part_alone(tmp_path):
    _, whole = traced(tmp_path)
    _, some = traced(tmp_path, window="1000..1010")
    numbers = [one.annotations["request"] for one in some.slices["host queue/requests"]]
    assert numbers == list(range(1000, 1011))
    of = [one for one in whole.below("die") if 1000 <= one.annotations["request"] <= 1010]
    assert [(one.start, one.end, one.name) for one in some.below("die")] == [
        (one.start, one.end, one.name) for one in of
    ]
    depths = dict(whole.counters["host queue/queue depth"])
    for at, value in some.counters["host queue/queue depth"]:
        assert depths[at] == value
    middle = whole.slices["host queue/requests"][700].start
    _, timed = traced(tmp_path, window=f"{middle}ns..{middle + 5_000_000}ns")
    inside = [one for one in whole.below("die") if one.start < middle + 5_000_000 and one.end > middle]
    assert [(one.start, one.end) for one in timed.below("die")] == [(one.start, one.end) for one in inside]
    assert 0 < timed.events < whole.events / 10


def test_a_window_behind_the_end_is_told(tmp_path):
    result, trace = traced(tmp_path, window="100000..")
    assert "the timeline shows no request: none is in its window" in result.notices
    assert not trace.slices


@pytest.mark.parametrize(
    ("window", "why"),
    [
        ("3s..2s", "it ends before it begins"),
        ("2ms..2000us", "it is empty"),
        ("20..10", "it ends before it begins"),
        ("0..10", "expected two times"),
        ("1..2s", "expected two times"),
        ("..", "expected two times"),
        ("5", "expected two times"),
        ("1h..2h", "expected two times"),
    ],
)
def test_a_window_that_is_none_is_refused_with_a_sentence(tmp_path, window, why):
    with pytest.raises(nandlab.ConfigError, match=why):
        traced(tmp_path, window=window)
    assert [file.name for file in tmp_path.iterdir()] == ["experiment.toml"]


def test_what_has_no_times_has_no_timeline(tmp_path):
    with pytest.raises(nandlab.ConfigError, match="keeps no time"):
        traced(tmp_path, "device.model=counting")
    with pytest.raises(nandlab.NandlabError, match="the folder does not exist"):
        nandlab.Experiment.from_toml(tmp_path / "experiment.toml").run(timeline=tmp_path / "no" / "a.pftrace")
    with pytest.raises(nandlab.NandlabError, match=r"a timeline is a \.perfetto or \.pftrace file"):
        nandlab.Experiment.from_toml(tmp_path / "experiment.toml").run(timeline=tmp_path / "a.json")
    with pytest.raises(nandlab.ConfigError, match="a window belongs to a timeline"):
        nandlab.Experiment.from_toml(tmp_path / "experiment.toml").run(timeline_window="1..2")
    assert [file.name for file in tmp_path.iterdir()] == ["experiment.toml"]


@pytest.mark.parametrize("extra", [[], ["device.model=bytes"]])
def test_a_timeline_changes_no_figure(tmp_path, extra):
    experiment = nandlab.Experiment.from_toml(write(tmp_path / "a.toml", MIXED), [SHAPE, *extra])
    plain = experiment.run()
    log = tmp_path / "ops.csv"
    logged = experiment.run(op_log=log).to_dict()
    traced_too = experiment.run(timeline=tmp_path / "a.pftrace", op_log=log).to_dict()
    for record in (logged, traced_too):
        record.pop("speed")
    assert logged == traced_too
    assert plain.matrix == nandlab.Result(traced_too).matrix
    first = (tmp_path / "a.pftrace").read_bytes()
    experiment.run(timeline=tmp_path / "b.pftrace")
    assert (tmp_path / "b.pftrace").read_bytes() == first


INDEX = """
[workload.inserts]
operations = 1500
[index.btree]
[ftl.page]
[device]
capacity = "24 MiB"
over_provisioning = 0.3
"""
FILES = """
[workload.postmark]
number = 100
transactions = 300
[fs.yaffs]
[device]
capacity = "24 MiB"
"""


ON_FTL = FILES.replace("fs.yaffs", "fs.fat") + "over_provisioning = 0.3\n[ftl.page]\n"


@pytest.mark.parametrize("text", [INDEX, FILES, ON_FTL], ids=["index", "files on flash", "files on an FTL"])
def test_indexes_and_file_systems_have_timelines(tmp_path, text):
    result, trace = traced(tmp_path, text=text)
    assert trace.busy(trace.named("die")) == ns(result.parts.dies.busy_us)
    assert len(trace.slices["host queue/requests"]) == result.host.requests


def test_the_command_writes_a_timeline_and_removes_a_broken_one(tmp_path):
    path = write(tmp_path / "a.toml", MIXED)
    command = [sys.executable, "-m", "nandlab", "run", path, "--json"]

    def call(*more):
        return subprocess.run([*command, *more], capture_output=True, text=True, check=False)

    assert call("--timeline", tmp_path / "t.perfetto", "--timeline-window", "1..100").returncode == 0
    assert len(Trace(tmp_path / "t.perfetto").slices["host queue/requests"]) == 100
    for more, sentence in (
        (("--timeline", tmp_path / "t.json"), "a timeline is a .perfetto or .pftrace file"),
        (("--timeline-window", "1..2"), "--timeline-window belongs to --timeline FILE"),
        (("--timeline", tmp_path / "no" / "t.perfetto"), "there is no folder"),
        (("--timeline", tmp_path / "u.perfetto", "--timeline-window", "2s..1s"), "it ends before it begins"),
    ):
        ended = call(*more)
        assert ended.returncode == 2 and sentence in " ".join(ended.stderr.split()), ended
    assert sorted(file.name for file in tmp_path.iterdir()) == ["a.toml", "t.perfetto"]
