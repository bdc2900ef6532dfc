//! Bounds for the memory, threads and patience clients can take.

use crate::protocol::{answered, read, reply, request, Rig};
use crate::support::means;
use nandlab_serve::nbd::{Limits, Server};
use nandlab_serve::{Due, Export, Memory};
use std::io::{Read, Result, Write};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::Arc;
use std::time::{Duration, Instant};

const MIB: usize = 1 << 20;

/// A rig with these limits, on a disk with 2 MiB paced by `pace`; the `fails`th thread cannot be made.
fn rig(limits: Limits, pace: Duration, fails: Option<usize>) -> Rig {
    let folder = tempfile::tempdir().unwrap();
    let disk = Arc::new(Memory::new(2 * MIB).paced(pace));
    let server = Server::start_with(&folder.path().join("s"), disk.clone(), limits, means(fails).0).unwrap();
    Rig { folder, disk, server }
}

#[test]
fn the_bounds_are_64_mib_a_client_and_512_in_all() {
    assert_eq!(Limits::default(), Limits { client_bytes: 64 * MIB, all_bytes: 512 * MIB });
}

#[test]
fn replies_not_yet_due_stay_within_the_bounds() {
    let limits = Limits { client_bytes: MIB, all_bytes: 2 * MIB };
    let rig = rig(limits, Duration::from_millis(10), None);
    let length = MIB / 2 - 200;
    let read_all = |requests: u64| {
        let mut stream = rig.client();
        let all: Vec<u8> = (0..requests).flat_map(|cookie| request(0, 0, cookie, 0, length as u32)).collect();
        stream.write_all(&all).unwrap();
        let mut cookies: Vec<u64> = (0..requests)
            .map(|_| {
                let (error, cookie) = answered(&mut stream);
                assert_eq!((error, read(&mut stream, length).len()), (0, length));
                cookie
            })
            .collect();
        cookies.sort_unstable();
        assert_eq!(cookies, (0..requests).collect::<Vec<_>>());
    };
    read_all(20);
    assert!((length..=MIB).contains(&rig.server.peak_bytes()), "{}", rig.server.peak_bytes());
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| read_all(10));
        }
    });
    assert!(rig.server.peak_bytes() <= 2 * MIB, "{}", rig.server.peak_bytes());
}

#[test]
fn a_client_that_keeps_memory_others_wait_for_is_cut_off() {
    let limits = Limits { client_bytes: MIB, all_bytes: MIB };
    // One announces a write and sends no data; another takes none of its replies.
    let announced = request(1, 0, 1, 0, MIB as u32);
    let unread: Vec<u8> = (0..8).flat_map(|cookie| request(0, 0, cookie, 0, MIB as u32 - 500)).collect();
    for begun in [announced, unread] {
        let rig = rig(limits, Duration::from_millis(1), None);
        let mut holds = rig.client();
        holds.write_all(&begun).unwrap();
        while rig.server.peak_bytes() == 0 {
            std::thread::sleep(Duration::from_millis(1));
        }
        let mut waits = rig.client();
        waits.write_all(&request(0, 0, 2, 0, MIB as u32 / 2)).unwrap();
        assert_eq!((answered(&mut waits), read(&mut waits, MIB / 2).len()), ((0, 2), MIB / 2));
    }
}

/// A disk whose answers are due in an hour.
struct Slow(AtomicUsize);

impl Export for Slow {
    fn size(&self) -> u64 {
        MIB as u64
    }

    fn preferred_block(&self) -> u32 {
        4096
    }

    fn read(&self, _: u64, _: &mut [u8]) -> Result<Due> {
        self.0.fetch_add(1, Ordering::SeqCst);
        Ok(Due::at(Instant::now() + Duration::from_secs(3600)))
    }

    fn write(&self, _: u64, _: &[u8], _: bool) -> Result<Due> {
        Ok(Due::NOW)
    }

    fn write_zeroes(&self, _: u64, _: u64, _: bool, _: bool) -> Result<Due> {
        Ok(Due::NOW)
    }

    fn trim(&self, _: u64, _: u64, _: bool) -> Result<Due> {
        Ok(Due::NOW)
    }

    fn hand_over(&self) -> Result<()> {
        Ok(())
    }

    fn flush(&self) -> Result<Due> {
        Ok(Due::NOW)
    }
}

#[test]
fn the_end_waits_for_no_reply_and_no_client_over_its_bound() {
    let folder = tempfile::tempdir().unwrap();
    let disk = Arc::new(Slow(AtomicUsize::new(0)));
    let limits = Limits { client_bytes: MIB, all_bytes: 2 * MIB };
    let server = Server::start_with(&folder.path().join("s"), disk.clone(), limits, means(None).0).unwrap();
    let rig = Rig { folder, disk: Arc::new(Memory::new(0)), server };
    let mut stream = rig.client();
    let all: Vec<u8> = (0..3).flat_map(|cookie| request(0, 0, cookie, 0, MIB as u32 / 2 + 1)).collect();
    stream.write_all(&all).unwrap();
    // The second one is carried out, and its reply waits for room.
    while disk.0.load(Ordering::SeqCst) < 2 {
        std::thread::sleep(Duration::from_millis(1));
    }
    let start = Instant::now();
    drop(rig.server);
    assert!(start.elapsed() < Duration::from_secs(5), "{:?}", start.elapsed());
    assert_eq!(disk.0.load(Ordering::SeqCst), 2, "the third one was not begun");
}

#[test]
fn a_client_without_a_thread_gets_an_error_and_the_next_one_is_served() {
    let (means, said) = means(Some(1));
    let folder = tempfile::tempdir().unwrap();
    let disk = Arc::new(Memory::new(MIB));
    let server = Server::start_with(&folder.path().join("s"), disk.clone(), Limits::default(), means).unwrap();
    let rig = Rig { folder, disk, server };
    let mut first = rig.client();
    let mut second = rig.connect();
    assert_eq!(read(&mut second, 18)[..16], *b"NBDMAGICIHAVEOPT");
    let (kind, text) = reply(&mut second);
    assert_eq!(kind, (1 << 31) + 7);
    assert!(String::from_utf8(text).unwrap().starts_with("no thread can be made"));
    assert_eq!(second.read(&mut [0; 1]).unwrap(), 0);
    let mut third = rig.client();
    for stream in [&mut first, &mut third] {
        stream.write_all(&request(0, 0, 3, 0, 8)).unwrap();
        assert_eq!((answered(stream), read(stream, 8)), ((0, 3), vec![0; 8]));
    }
    let said = said.lock().unwrap();
    assert!(said.len() == 1 && said[0].starts_with("a client was refused: no thread"), "{said:?}");
}

#[test]
fn a_paced_client_without_a_thread_for_its_replies_gets_them() {
    let rig = rig(Limits::default(), Duration::from_millis(20), Some(1));
    let mut stream = rig.client();
    let start = Instant::now();
    stream.write_all(&request(0, 0, 3, 0, 8)).unwrap();
    assert_eq!((answered(&mut stream), read(&mut stream, 8)), ((0, 3), vec![0; 8]));
    assert!(start.elapsed() >= Duration::from_millis(20));
}
