//! NVMe over TCP, PDU by PDU: bounds for memory, connections and patience, and broken input.

mod host;

use crate::support::means;
use crate::support::{create, open};
use host::*;
use nandlab_nand::random::Random;
use nandlab_serve::nvme::{Server, ServerError, Settings};
use nandlab_serve::{Due, Export, Limits, Memory};
use std::time::{Duration, Instant};

#[test]
fn addresses_beyond_this_machine_and_other_blocks_are_refused() {
    let start = |at: &str, block_bytes| Server::start(at, memory(), Settings { block_bytes, ..Settings::default() });
    assert!(matches!(start("0.0.0.0:0", 512), Err(ServerError::NotLoopback(_))));
    assert!(matches!(start("nowhere", 512), Err(ServerError::NoAddress(_))));
    assert!(matches!(start("127.0.0.1:0", 1024), Err(ServerError::BlockBytes(1024))));
    assert!(start("127.0.0.1:0", 4096).is_ok());
}

/// NVMe has no conventional zones. As a block device the disk takes writes there, in any order, and has them when it is opened
/// again.
#[test]
fn a_disk_with_conventional_zones_is_served_as_a_plain_device_alone() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("zones.img");
    let zones = ["device.zones.size=\"1 MiB\"", "device.zones.conventional=2", "device.over_provisioning=2"];
    create(&path, "zns", &zones);
    let disk = std::sync::Arc::new(open(&path));
    let refused = Server::start("127.0.0.1:0", disk.clone(), Settings::default()).err();
    assert!(matches!(refused, Some(ServerError::Conventional(2))), "{refused:?}");
    for (at, byte) in [(1 << 20, 1), (4096, 2), (4096, 3)] {
        disk.write(at, &[byte; 4096], false).unwrap();
    }
    assert!(disk.write((2 << 20) + 4096, &[4; 4096], false).is_err(), "a zone with a write pointer comes next");
    disk.write(2 << 20, &[5; 4096], true).unwrap();
    drop(disk);
    let disk = open(&path);
    for (at, byte) in [(1 << 20, 1), (4096, 3), (2 << 20, 5)] {
        let mut found = [0; 4096];
        disk.read(at, &mut found).unwrap();
        assert_eq!(found, [byte; 4096], "at {at}");
    }
}

#[test]
fn broken_pdus_end_the_connection_with_the_reason() {
    let server = server(memory(), Settings::default());
    let read = capsule(&transfer(2, 9, BY_TRANSPORT, 0, 1), &[]);
    let with = |at: usize, byte: u8| {
        let mut bytes = read.clone();
        bytes[at] = byte;
        bytes
    };
    let long = [&read[..4], &u32::MAX.to_le_bytes(), &read[8..]].concat();
    let data = pdu(6, 4, &[0; 16], &[0; 512]);
    // The status and the information: the wrong byte.
    for (bytes, status, information) in [
        (with(0, 0x0B), 1, 0),
        (with(0, 5), 1, 0),
        (with(1, 1), 1, 1),
        (with(2, 71), 1, 2),
        (with(4, 71), 1, 4),
        (long, 1, 3),
        (capsule(&transfer(1, 9, IN_CAPSULE, 0, 16), &[0; 8193]), 5, 0),
        (init(0), 2, 0),
        (data, 1, 10),
    ] {
        let mut host = Host::begun(&server);
        host.send(&bytes);
        let end = host.pdu().expect("the reason");
        assert_eq!((end.kind, end.u16(8), end.u32(10)), (3, status, information), "{:?}", &bytes[..8]);
        assert!(host.pdu().is_none());
    }
    let mut host = Host::open(&server);
    host.send(&read);
    let end = host.pdu().unwrap();
    assert_eq!((end.kind, end.u16(8)), (3, 2), "a command before the first PDU");
    let mut host = Host::open(&server);
    let mut other = init(0);
    other[8] = 1;
    host.send(&other);
    assert_eq!(host.pdu().unwrap().u16(8), 6, "another version");
}

#[test]
fn connects_that_do_not_fit_are_refused() {
    let server = server(memory(), Settings::default());
    let (mut admin, id) = Host::admin(&server, 0);
    let nqn = server.nqn().to_owned();
    for (bytes, status) in [
        (connect(0, 0xFFFF, "nqn.2014-08.org:other", 1, 0), 0x182),
        (connect(0, id, &nqn, 1, 0), 0x182),
        (connect(1, id + 1, &nqn, 1, 0), 0x182),
        (connect(1, id, &nqn, 2, 0), 0x182),
        (connect(5, id, &nqn, 1, 0), 0x182),
        (capsule(&transfer(2, 0, BY_TRANSPORT, 0, 1), &[]), 0x00C),
    ] {
        let mut host = Host::begun(&server);
        host.send(&bytes);
        assert_eq!(host.status(), (0, status));
    }
    admin.send(&connect(0, 0xFFFF, &nqn, 1, 0));
    assert_eq!(admin.status(), (0, 0x00C), "queue 0 twice");
    let mut first = Host::begun(&server);
    first.send(&connect(1, id, &nqn, 1, 0));
    assert_eq!(first.status(), (0, 0));
    let mut second = Host::begun(&server);
    second.send(&connect(1, id, &nqn, 1, 0));
    assert_eq!(second.status(), (0, 0x00C), "queue 1 twice");
    first.send(&capsule(&transfer(2, 4, BY_TRANSPORT, 0, 1), &[]));
    assert_eq!(first.pdu().unwrap().data, [0; 512]);
}

#[test]
fn a_controller_ends_with_its_admin_queue_and_with_its_keep_alive() {
    let server = server(memory(), Settings::default());
    let (admin, mut queue) = Host::pair(&server);
    assert_eq!(server.controllers(), 1);
    drop(admin);
    assert!(queue.pdu().is_none(), "the I/O queue ends, too");
    let (mut admin, _) = Host::admin(&server, 200);
    for id in 0..4 {
        std::thread::sleep(Duration::from_millis(100));
        admin.send(&capsule(&command(0x18, id, (0, 0), &[]), &[]));
        assert_eq!(admin.status(), (id, 0));
    }
    let silent = Instant::now();
    assert!(admin.pdu().is_none());
    assert!(silent.elapsed() >= Duration::from_millis(150), "{:?}", silent.elapsed());
}

#[test]
fn half_a_pdu_and_data_that_never_comes_end_the_connection() {
    let server = server(memory(), Settings::default());
    let half = capsule(&transfer(2, 1, BY_TRANSPORT, 0, 1), &[])[..40].to_vec();
    let announced = capsule(&transfer(1, 1, BY_TRANSPORT, 0, 64), &[]);
    for bytes in [half, announced] {
        let (_admin, mut queue) = Host::pair(&server);
        let begun = Instant::now();
        queue.send(&bytes);
        while queue.pdu().is_some() {}
        let took = begun.elapsed();
        assert!(took >= Duration::from_millis(250) && took < Duration::from_secs(5), "{took:?}");
    }
    // A queue at rest stays.
    let (_admin, mut queue) = Host::pair(&server);
    std::thread::sleep(Duration::from_millis(700));
    queue.send(&capsule(&transfer(2, 1, BY_TRANSPORT, 0, 1), &[]));
    assert_eq!(queue.pdu().unwrap().data.len(), 512);
}

/// Sends the `length` data bytes that `ready` asks for.
fn answer(queue: &mut Host, ready: &Pdu, byte: u8) {
    let length = ready.u32(16) as usize;
    for offset in (0..length).step_by(64 << 10) {
        let part = (length - offset).min(64 << 10);
        let mut header = [0; 16];
        header[..4].copy_from_slice(&ready.header[8..12]);
        header[4..8].copy_from_slice(&(offset as u32).to_le_bytes());
        header[8..12].copy_from_slice(&(part as u32).to_le_bytes());
        let last = if offset + part == length { 4 } else { 0 };
        queue.send(&pdu(6, last, &header, &vec![byte; part]));
    }
}

#[test]
fn announced_writes_wait_for_memory() {
    let limits = Limits { client_bytes: 1 << 20, all_bytes: 4 << 20 };
    let drive = memory();
    let server = server(drive.clone(), Settings { limits, ..Settings::default() });
    let (_admin, mut queue) = Host::pair(&server);
    let announced: Vec<u8> =
        (0..12).flat_map(|id| capsule(&transfer(1, id, BY_TRANSPORT, u64::from(id) * 800, 800), &[])).collect();
    queue.send(&announced);
    let mut done = Vec::new();
    while done.len() < 12 {
        let next = queue.pdu().expect("the connection is open");
        match next.kind {
            9 => answer(&mut queue, &next, next.u16(8) as u8 + 1),
            _ => done.push(next.status()),
        }
    }
    done.sort_unstable();
    assert_eq!(done, (0..12).map(|id| (id, 0)).collect::<Vec<_>>());
    assert!((800 * 512..=1 << 20).contains(&server.peak_bytes()), "{}", server.peak_bytes());
    let mut found = vec![0; 800 * 512];
    for id in 0..12 {
        drive.read(u64::from(id) * 800 * 512, &mut found).unwrap();
        assert!(found.iter().all(|&byte| byte == id + 1), "write {id}");
    }
}

#[test]
fn identifiers_in_use_and_pointers_beyond_the_capsule_are_refused() {
    let server = server(memory(), Settings::default());
    let (_admin, mut queue) = Host::pair(&server);
    queue.send(&capsule(&transfer(1, 7, BY_TRANSPORT, 0, 32), &[]));
    let ready = queue.pdu().unwrap();
    assert_eq!((ready.kind, ready.u16(8), ready.u32(16)), (9, 7, 32 * 512));
    queue.send(&capsule(&transfer(2, 7, BY_TRANSPORT, 0, 1), &[]));
    assert_eq!(queue.status(), (7, 0x003));
    answer(&mut queue, &ready, 1);
    assert_eq!(queue.status(), (7, 0));
    let mut beyond = transfer(1, 8, IN_CAPSULE, 0, 2);
    queue.send(&capsule(&beyond, &[0; 512]));
    assert_eq!(queue.status(), (8, 0x016));
    beyond[24..32].fill(0xFF);
    queue.send(&capsule(&beyond, &[0; 1024]));
    assert_eq!(queue.status(), (8, 0x016));
    let mut short = transfer(2, 9, BY_TRANSPORT, 0, 2);
    short[33] = 2;
    queue.send(&capsule(&short, &[]));
    assert_eq!(queue.status(), (9, 0x00F));
    queue.send(&capsule(&transfer(2, 10, IN_CAPSULE, 0, 1), &[]));
    assert_eq!(queue.status(), (10, 0x011));
}

#[test]
fn a_host_that_takes_no_answers_stops_no_other_and_takes_no_memory() {
    let server = server(memory(), Settings::default());
    let (_admin, mut slow) = Host::pair(&server);
    let reads: Vec<u8> = (0..30).flat_map(|id| capsule(&transfer(2, id, BY_TRANSPORT, 0, 2048), &[])).collect();
    slow.send(&reads);
    let (_other, mut queue) = Host::pair(&server);
    queue.send(&capsule(&transfer(2, 1, BY_TRANSPORT, 5, 8), &[]));
    assert_eq!(queue.pdu().unwrap().data.len(), 4096);
    // Nothing is lost for the slow one.
    let mut read = 0;
    while read < 30 {
        let next = slow.pdu().unwrap();
        read += usize::from(next.kind == 5);
        assert!(next.kind == 5 || next.data.len() == 1 << 20);
    }
}

#[test]
fn thousands_of_connections_are_bounded_and_leave_room_afterwards() {
    let server = server(memory(), Settings::default());
    let mut open = Vec::new();
    let mut most = 0;
    for number in 0..2_000 {
        open.push(Host::open(&server));
        if number % 100 == 0 {
            most = most.max(server.connections());
        }
        // Files of this process are limited, too.
        if open.len() > 700 {
            open.remove(0);
        }
    }
    assert!(most <= 512, "{most} connections");
    let end = Instant::now() + Duration::from_secs(20);
    while server.connections() > 400 && Instant::now() < end {
        std::thread::sleep(Duration::from_millis(20));
    }
    let (_admin, mut queue) = Host::pair(&server);
    queue.send(&capsule(&transfer(2, 1, BY_TRANSPORT, 0, 1), &[]));
    assert_eq!(queue.pdu().unwrap().data.len(), 512);
}

#[test]
fn random_bytes_stop_nobody() {
    let server = server(memory(), Settings::default());
    let mut random = Random::new(70);
    for _ in 0..300 {
        let (_admin, mut queue) = Host::pair(&server);
        let mut bytes: Vec<u8> = Vec::new();
        for id in 0..8 {
            let opcode = random.below(16) as u8;
            let pointer = [IN_CAPSULE, BY_TRANSPORT][random.below(2) as usize];
            let mut entry = transfer(opcode, id, pointer, random.below(20_000), 1 + random.below(16) as u32);
            for _ in 0..random.below(4) {
                entry[random.below(64) as usize] = random.below(256) as u8;
            }
            bytes.extend(capsule(&entry, &vec![1; random.below(3) as usize * 512]));
        }
        for _ in 0..random.below(3) {
            let at = random.below(bytes.len() as u64) as usize;
            bytes[at] = random.below(256) as u8;
        }
        queue.send(&bytes);
        let _ = queue.0.shutdown(std::net::Shutdown::Write);
        while queue.pdu().is_some() {}
    }
    let (_admin, mut queue) = Host::pair(&server);
    queue.send(&capsule(&transfer(2, 1, BY_TRANSPORT, 0, 1), &[]));
    assert_eq!(queue.pdu().unwrap().data.len(), 512);
}

#[test]
fn answers_of_a_paced_disk_come_when_they_are_due() {
    let drive = std::sync::Arc::new(Memory::new(SIZE).paced(Duration::from_millis(50)));
    let server = server(drive, Settings::default());
    let (_admin, mut queue) = Host::pair(&server);
    let begun = Instant::now();
    let all: Vec<u8> = (0..16).flat_map(|id| capsule(&transfer(2, id, BY_TRANSPORT, 0, 8), &[])).collect();
    queue.send(&all);
    for _ in 0..32 {
        queue.pdu().unwrap();
    }
    let took = begun.elapsed();
    assert!(took >= Duration::from_millis(50) && took < Duration::from_millis(500), "{took:?}: side by side");
}

/// Two controllers with a queue each, which write and read side by side: the disk tells them apart.
#[test]
fn a_disk_tells_each_queue_what_it_asked_for() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("queues.img");
    create(&path, "page", &[]);
    let disk = std::sync::Arc::new(open(&path));
    let server = server(std::sync::Arc::clone(&disk) as _, Settings::default());
    let (_first_admin, mut writes) = Host::pair(&server);
    let (_second_admin, mut reads) = Host::pair(&server);
    for id in 0..6 {
        writes.send(&capsule(&transfer(1, id, IN_CAPSULE, u64::from(id) * 8, 8), &[7; 4096]));
        assert_eq!(writes.status(), (id, 0));
        reads.send(&capsule(&transfer(2, id, BY_TRANSPORT, 0, 4), &[]));
        assert_eq!(reads.pdu().unwrap().data.len(), 2048);
        assert_eq!(reads.status(), (id, 0));
    }
    // Another door has no queue.
    nandlab_serve::Export::read(&*disk, 0, &mut [0; 512]).unwrap();
    let stats = disk.stats();
    let rows = stats["queues"]["rows"].as_array().unwrap();
    let found: Vec<[u64; 6]> = rows
        .iter()
        .map(|row| {
            ["controller", "queue", "requests", "reads", "read_bytes", "written_bytes"]
                .map(|name| row[name].as_u64().unwrap())
        })
        .collect();
    assert_eq!(found, [[1, 1, 6, 0, 0, 6 * 4096], [2, 1, 6, 6, 6 * 2048, 0]]);
    for (row, op) in rows.iter().zip(["write", "read"]) {
        let of_all = &stats["latency_us"][op];
        let told = &row[format!("{op}_latency_us")];
        assert!(told["mean"].as_f64().unwrap() > 0.0);
        assert!(told["p99"].as_f64() <= of_all["max"].as_f64());
    }
    assert_eq!(rows[0]["write_latency_us"]["p99"], stats["latency_us"]["write"]["p99"], "only this queue wrote");
    assert_eq!((&stats["host"]["requests"], &stats["handles"]), (&13.into(), &serde_json::Value::Null));
    assert_eq!(
        serde_json::to_value(nandlab_serve::http::Watched::snapshot(&*disk).figures).unwrap()["queues"],
        stats["queues"]
    );
}

/// A disk that refuses to hand changes over.
struct Full(Memory);

impl Export for Full {
    fn size(&self) -> u64 {
        self.0.size()
    }
    fn preferred_block(&self) -> u32 {
        4096
    }
    fn read(&self, _: u64, _: &mut [u8]) -> std::io::Result<Due> {
        Err(std::io::Error::other("lost"))
    }
    fn write(&self, offset: u64, data: &[u8], fua: bool) -> std::io::Result<Due> {
        self.0.write(offset, data, fua)
    }
    fn write_zeroes(&self, offset: u64, length: u64, may_trim: bool, fua: bool) -> std::io::Result<Due> {
        self.0.write_zeroes(offset, length, may_trim, fua)
    }
    fn trim(&self, offset: u64, length: u64, fua: bool) -> std::io::Result<Due> {
        self.0.trim(offset, length, fua)
    }
    fn hand_over(&self) -> std::io::Result<()> {
        Err(std::io::ErrorKind::StorageFull.into())
    }
    fn flush(&self) -> std::io::Result<Due> {
        self.0.flush()
    }
}

impl nandlab_serve::Described for Full {
    fn description(&self) -> nandlab_serve::Description {
        self.0.description()
    }
    fn health(&self) -> nandlab_serve::Health {
        self.0.health()
    }
}

#[test]
fn errors_of_the_medium_are_statuses_and_no_lost_connection() {
    let server = server(std::sync::Arc::new(Full(Memory::new(SIZE))), Settings::default());
    let (mut admin, mut queue) = Host::pair(&server);
    let commands = [
        capsule(&transfer(1, 1, IN_CAPSULE, 0, 1), &[1; 512]),
        capsule(&transfer(2, 2, BY_TRANSPORT, 0, 1), &[]),
        capsule(&transfer(2, 3, BY_TRANSPORT, SIZE as u64 / 512, 1), &[]),
    ];
    for command in commands {
        queue.send(&command);
    }
    let mut found = [queue.status(), queue.status(), queue.status()];
    found.sort_unstable();
    assert_eq!(found, [(1, 0x280), (2, 0x281), (3, 0x080)]);
    // The error log has the newest first; a write refused by the host's disk is told by its status.
    let log = command(0x02, 5, (BY_TRANSPORT, 128), &[(4, 0xFFFF_FFFF, 4), (40, 1 | 31 << 16, 4)]);
    admin.send(&capsule(&log, &[]));
    let data = admin.pdu().unwrap().data;
    assert_eq!((data[0], data[64]), (2, 1));
    assert_eq!(admin.status(), (5, 0));
}

#[test]
fn without_a_thread_a_connection_ends_and_others_go_on() {
    let (means, said) = means(Some(0));
    let server = Server::start_with("127.0.0.1:0", memory(), Settings::default(), means).unwrap();
    assert!(Host::open(&server).pdu().is_none());
    assert_eq!(said.lock().unwrap().len(), 1);
    drop(Host::pair(&server));
}
