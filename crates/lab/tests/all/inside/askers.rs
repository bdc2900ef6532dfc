//! Tests of `src/served/askers.rs`.

use nandlab_block::{Completion, Error, Op, Request, ZoneFault};
use nandlab_lab::inside::LatencyMeter;
use nandlab_lab::served::{AskedCounts, AskedMeter, HandleId, QueueId, MOST_ROWS};
use nandlab_nand::random::Random;
use nandlab_nand::{PlacementId, PlacementIds};

fn queue(number: u16) -> Option<QueueId> {
    Some(QueueId { controller: number / 64 + 1, queue: number % 64 + 1 })
}

fn took(ns: u64) -> Completion {
    Completion { arrival: 7, done: 7 + ns }
}

#[test]
fn mean_and_p99_of_a_queue_are_those_of_a_histogram() {
    let (mut draw, mut all) = (Random::new(70), LatencyMeter::default());
    let mut meter = AskedMeter::new(None, true);
    for step in 0..5000 {
        let request = Request::new(if step % 3 == 0 { Op::Read } else { Op::Write }, 0, 8);
        let done = took(1 << draw.below(34) | draw.below(1 << 12));
        meter.add(queue(5), &request, &done, None);
        all.add(&request, &done);
    }
    let (told, whole) = (meter.told(), all.summary());
    let counts = told.queues.rows[0].counts;
    for (brief, summary) in [(counts.read_latency_us, whole.read), (counts.write_latency_us, whole.write)] {
        let (brief, summary) = (brief.unwrap(), summary.unwrap());
        assert_eq!((brief.mean, brief.p99), (summary.mean, summary.p99));
    }
    assert_eq!(told.handles, None, "the host does not place");
}

/// With one queue more than there are rows, the one that was quiet longest goes to the others, and no request is lost.
#[test]
fn rows_are_bounded_and_no_request_is_lost() {
    let mut meter = AskedMeter::new(None, true);
    let most = MOST_ROWS as u16;
    for number in 0..most {
        meter.add(queue(number), &Request::new(Op::Write, 0, 8), &took(1000), None);
    }
    meter.add(queue(0), &Request::new(Op::Read, 0, 2), &took(3000), None);
    assert_eq!(meter.told().queues.others, None, "all had room");
    meter.add(queue(most), &Request::new(Op::Flush, 0, 0), &took(0), None);
    let told = meter.told().queues;
    assert_eq!(told.rows.len(), MOST_ROWS);
    let has = |number| told.rows.iter().any(|row| Some(row.who) == queue(number));
    assert!(has(0) && !has(1) && has(2) && has(most), "queue 1 was quiet longest");
    let others = told.others.unwrap();
    assert_eq!((others.requests, others.writes, others.written_bytes), (1, 1, 4096));
    assert_eq!(others.write_latency_us.unwrap().mean, 1.0);
    assert_eq!(told.rows.iter().map(|row| row.counts.requests).sum::<u64>() + 1, u64::from(most) + 2);
    // A queue that comes back begins again.
    meter.add(queue(1), &Request::new(Op::Read, 0, 1), &took(10), None);
    let told = meter.told().queues;
    assert_eq!(told.rows.iter().find(|row| Some(row.who) == queue(1)).unwrap().counts.requests, 1);
    assert_eq!(told.others.unwrap().requests, 2);
}

#[test]
fn each_request_is_in_the_row_of_its_handle() {
    let mut meter = AskedMeter::new(Some(PlacementIds { groups: 2, handles: 2 }), true);
    let placed = |group, handle| Request { placement: PlacementId { group, handle }, ..Request::new(Op::Write, 0, 8) };
    meter.add(None, &placed(1, 1), &took(5000), None);
    // A handle and a group that the drive does not have.
    meter.add(None, &placed(0, 2), &took(5000), None);
    meter.add(None, &placed(2, 0), &took(5000), None);
    meter.add(None, &Request::new(Op::Read, 0, 8), &took(5000), None);
    let told = meter.told();
    assert_eq!(told.queues.rows, [], "they came by no queue");
    let rows = told.handles.unwrap().rows;
    let found: Vec<_> = rows.iter().map(|row| (row.who, row.counts.requests)).collect();
    let named = |group, handle| HandleId { group: Some(group), handle: Some(handle) };
    assert_eq!(found, [(named(1, 1), 1), (named(0, 0), 2), (HandleId { group: None, handle: None }, 1)]);
}

#[test]
fn a_failed_request_counts_without_its_bytes() {
    let mut meter = AskedMeter::new(None, true);
    let (read, write) = (Request::new(Op::Read, 0, 8), Request::new(Op::Write, 0, 8));
    meter.add(queue(0), &read, &took(2000), Some(&Error::Unreadable { sector: 3 }));
    let refused = Error::Zone { zone: 0, fault: ZoneFault::Full };
    meter.add(queue(0), &write, &took(0), Some(&refused));
    let counts = meter.told().queues.rows[0].counts;
    let wanted =
        AskedCounts { requests: 2, reads: 1, writes: 1, read_latency_us: counts.read_latency_us, ..Default::default() };
    assert_eq!(counts, wanted, "a refusal has no latency");
    assert_eq!(counts.read_latency_us.unwrap().mean, 2.0);
}
