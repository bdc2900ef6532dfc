//! Times between host and FTL, worked out by hand.

use super::*;

const TIMES: PathTimes = PathTimes {
    latency: 1_000,
    write_latency: 1_000,
    read_command: 10,
    write_command: 20,
    append_command: 20,
    read_list: 5,
    write_list: 7,
    read_list_over: 8192,
    write_list_over: 8192,
    link_read: 2,
    link_write: 3,
    read_ns_per_byte: 0.5,
    write_ns_per_byte: 0.25,
    write_buffer: 0,
    is_protected: false,
    answers_reads: false,
    packed_writes: 0,
    scaling: None,
};

fn request(op: Op, sectors: u32) -> Request {
    Request::new(op, 0, sectors)
}

fn between(times: &PathTimes) -> Path {
    Path::new(times, 0)
}

/// When the FTL begins a request; flash has the writes in `held` at their times.
fn begin(path: &mut Path, request: &Request, arrival: Time, held: &mut VecDeque<(Time, Request)>) -> Time {
    let mut at = path.process(request, arrival);
    while path.waits_for_space(request) {
        let (end, write) = held.pop_front().expect("a write has the space");
        path.stored(&write, 0);
        at = at.max(end);
    }
    path.send(request, arrival, at)
}

/// When the FTL begins and the host has the answer, if flash takes `flash` for each.
fn play(path: &mut Path, requests: &[(Op, u32, Time)], flash: Time) -> Vec<(Time, Time)> {
    let mut held = VecDeque::new();
    let one = |&(op, sectors, arrival): &(Op, u32, Time)| {
        let request = request(op, sectors);
        let begun = begin(path, &request, arrival, &mut held);
        held.push_back((begun + flash, request));
        (begun, path.answer(&request, (arrival, begun), begun + flash))
    };
    requests.iter().map(one).collect()
}

#[test]
fn a_write_may_have_a_latency_of_its_own() {
    let mut path = between(&PathTimes { latency: 900, write_latency: 40, ..PathTimes::default() });
    let requests = [Op::Read, Op::Write, Op::Append, Op::Trim, Op::Flush].map(|op| (op, 8, 0));
    let ends: Vec<Time> = play(&mut path, &requests, 100).iter().map(|&(_, end)| end).collect();
    assert_eq!(ends, [1_000, 140, 140, 1_000, 1_000]);
    // A write buffer answers it before flash.
    let mut path = between(&PathTimes { latency: 900, write_latency: 40, write_buffer: 8192, ..PathTimes::default() });
    assert_eq!(play(&mut path, &[(Op::Write, 8, 0)], 100), [(0, 40)]);
}

#[test]
fn each_part_adds_its_time() {
    let read = |sectors, arrival| (Op::Read, sectors, arrival);
    let mut path = between(&TIMES);
    // 4 KiB at 0.5 ns a byte take 2,048 ns; 16 KiB need a list.
    let found = play(&mut path, &[read(8, 0), read(8, 0), read(32, 100_000)], 500);
    assert_eq!(found[0], (10, 10 + 500 + 2 + 2048 + 1000));
    assert_eq!(found[1], (20, 510 + 2 * (2 + 2048) + 1000), "behind the first on the link");
    assert_eq!(found[2], (100_015, 100_515 + 2 + 8192 + 1000));
    let mut path = between(&TIMES);
    let found = play(&mut path, &[(Op::Write, 8, 0), (Op::Trim, 8, 0), (Op::Flush, 0, 0), (Op::Write, 32, 9_000)], 700);
    assert_eq!(found[0], (20 + 3 + 1024, 1047 + 700 + 1000));
    assert_eq!(found[1], (40, 40 + 700 + 1000), "a trim has no data");
    assert_eq!(found[2], (60, 60 + 700 + 1000));
    assert_eq!(found[3], (9_027 + 3 + 4096, 13_126 + 700 + 1000));
    let used = PathUse { processor: 20 * 4 + 7, link_write: 1027 + 4099, ..PathUse::default() };
    assert_eq!(path.used(), used);
}

/// Reads have their step above 4 KiB, writes above 12 KiB; a limit between two sizes, and none at all.
#[test]
fn the_step_lies_where_the_drive_has_it() {
    let processed = |read_list_over, write_list_over, (op, sectors)| {
        let times = PathTimes { read_list_over, write_list_over, ..TIMES };
        between(&times).process(&request(op, sectors), 0)
    };
    let cases = [(Op::Read, 8), (Op::Read, 9), (Op::Write, 24), (Op::Append, 24), (Op::Write, 25), (Op::Append, 25)];
    assert_eq!(cases.map(|case| processed(4096, 12_288, case)), [10, 15, 20, 20, 27, 27]);
    assert_eq!(cases.map(|case| processed(4095, 12_287, case)), [15, 15, 27, 27, 27, 27]);
    assert_eq!(cases.map(|case| processed(0, 1 << 50, case)), [15, 15, 20, 20, 20, 20]);
    assert_eq!(processed(0, 0, (Op::Trim, 64)), 20, "a trim has no data");
    assert_eq!(processed(0, 0, (Op::Write, 1)), 27);
}

/// A command, then a header of 128 ns and the data. The third write is one too many, and the fourth comes too late.
#[test]
fn writes_that_wait_together_share_a_command() {
    let mut path = between(&PathTimes { packed_writes: 2, ..TIMES });
    let mut begin = |op, arrival| self::begin(&mut path, &request(op, 8), arrival, &mut VecDeque::new());
    let data = 1_024;
    assert_eq!(begin(Op::Write, 0), 20 + 3 + data);
    assert_eq!(begin(Op::Write, 0), 20 + 3 + data + 128 + data);
    assert_eq!(begin(Op::Write, 0), 20 + 3 + data + 128 + data + 3 + data, "a pack has two");
    assert_eq!(begin(Op::Write, 21), 23 + data + 128 + data + 2 * (3 + data), "the processor had begun");
    let used = path.used();
    assert_eq!((used.processor, used.packed_writes), (3 * 20, 2));
}

/// Room for two 4 KiB writes; flash takes a millisecond.
#[test]
fn a_full_buffer_holds_up_all_commands_behind_the_write() {
    for is_protected in [false, true] {
        let times = PathTimes { write_buffer: 8192, is_protected, ..TIMES };
        let mut path = between(&times);
        let write = (Op::Write, 8, 0);
        let found = play(&mut path, &[write, write, write, (Op::Read, 8, 0), (Op::Flush, 0, 0)], 1_000_000);
        assert_eq!(found[0], (1_047, 2_047), "it is answered once it crossed the link");
        assert_eq!(found[1], (2_074, 3_074));
        // The first is in flash at 1,001,047.
        assert_eq!(found[2].0, 1_001_047 + 1_027);
        assert_eq!(found[3], (1_001_057, 2_001_057 + 2_050 + 1_000), "commands are admitted in order");
        let flush = 1_001_077;
        assert_eq!(found[4], (flush, if is_protected { flush + 1_000 } else { flush + 1_001_000 }));
        let used = path.used();
        assert_eq!((used.buffer_waits, used.buffer_wait), (1, 1_001_047 - 60));
    }
}
