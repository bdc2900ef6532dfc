//! The protocol byte by byte: allowed input from a client, and attacks.

use nandlab_serve::nbd::{Server, SocketError};
use nandlab_serve::{Export, Memory};
use std::io::{Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::sync::Arc;
use std::time::Duration;

const OPTION: &[u8] = b"IHAVEOPT";
const GO: u32 = 7;

pub struct Rig {
    pub folder: tempfile::TempDir,
    pub disk: Arc<Memory>,
    pub server: Server,
}

fn rig() -> Rig {
    let folder = tempfile::tempdir().unwrap();
    let disk = Arc::new(Memory::new(1 << 20));
    let server = Server::start(&folder.path().join("s"), disk.clone()).unwrap();
    Rig { folder, disk, server }
}

impl Rig {
    pub fn connect(&self) -> UnixStream {
        let stream = UnixStream::connect(self.folder.path().join("s")).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
        stream
    }

    /// A client in the transmission phase.
    pub fn client(&self) -> UnixStream {
        let mut stream = self.connect();
        assert_eq!(read(&mut stream, 18)[..16], *b"NBDMAGICIHAVEOPT");
        stream.write_all(&3u32.to_be_bytes()).unwrap();
        option(&mut stream, GO, &[0, 0, 0, 0, 0, 0]);
        while reply(&mut stream).0 != 1 {}
        stream
    }
}

pub fn read(stream: &mut UnixStream, count: usize) -> Vec<u8> {
    let mut bytes = vec![0; count];
    stream.read_exact(&mut bytes).unwrap();
    bytes
}

pub fn option(stream: &mut UnixStream, number: u32, data: &[u8]) {
    stream.write_all(&[OPTION, &number.to_be_bytes(), &(data.len() as u32).to_be_bytes(), data].concat()).unwrap();
}

/// Kind and data in a reply to an option.
pub fn reply(stream: &mut UnixStream) -> (u32, Vec<u8>) {
    let head = read(stream, 20);
    let number = |at: usize| u32::from_be_bytes(head[at..at + 4].try_into().unwrap());
    (number(12), read(stream, number(16) as usize))
}

pub fn request(command: u16, flags: u16, cookie: u64, offset: u64, length: u32) -> Vec<u8> {
    [
        &0x2560_9513u32.to_be_bytes()[..],
        &flags.to_be_bytes(),
        &command.to_be_bytes(),
        &cookie.to_be_bytes(),
        &offset.to_be_bytes(),
        &length.to_be_bytes(),
    ]
    .concat()
}

/// Error and cookie in a reply to a request.
pub fn answered(stream: &mut UnixStream) -> (u32, u64) {
    let head = read(stream, 16);
    assert_eq!(head[..4], 0x6744_6698u32.to_be_bytes());
    (u32::from_be_bytes(head[4..8].try_into().unwrap()), u64::from_be_bytes(head[8..].try_into().unwrap()))
}

#[test]
fn unknown_options_and_names_are_refused_and_the_negotiation_goes_on() {
    let rig = rig();
    let mut stream = rig.connect();
    read(&mut stream, 18);
    stream.write_all(&1u32.to_be_bytes()).unwrap();
    for (number, data, refusal) in [
        (5, &b""[..], (1u32 << 31) + 1),
        (99, &b"anything"[..], (1 << 31) + 1),
        (3, &b"data"[..], (1 << 31) + 3),
        (GO, &b"\0\0\0\x09short\0\0"[..], (1 << 31) + 3),
        (GO, &b"\0\0\0\x05other\0\0"[..], (1 << 31) + 6),
    ] {
        option(&mut stream, number, data);
        assert_eq!(reply(&mut stream).0, refusal, "option {number} {data:?}");
    }
    // The oldest option, from a client that wants the zeros behind the answer.
    option(&mut stream, 1, b"disk");
    let answer = read(&mut stream, 134);
    assert_eq!(answer[..8], (1u64 << 20).to_be_bytes());
    stream.write_all(&request(0, 0, 7, 0, 16)).unwrap();
    assert_eq!((answered(&mut stream), read(&mut stream, 16)), ((0, 7), vec![0; 16]));
}

#[test]
fn requests_beyond_the_end_and_unknown_ones_get_an_error_each() {
    let rig = rig();
    let mut stream = rig.client();
    let end = 1 << 20;
    for (command, offset, length, error) in [
        (0, end - 1, 2, 22),
        (0, u64::MAX, 512, 22),
        (0, 0, u32::MAX, 22),
        (4, end, 1, 22),
        (6, end, 512, 28),
        (9, 0, 0, 22),
        (0, end, 0, 0),
        (3, 0, 0, 0),
    ] {
        stream.write_all(&request(command, 0, offset, offset, length)).unwrap();
        assert_eq!(answered(&mut stream), (error, offset), "command {command} at {offset} of {length}");
    }
    stream.write_all(&[request(1, 0, 5, end - 1, 2), vec![1, 2]].concat()).unwrap();
    assert_eq!(answered(&mut stream), (28, 5));
    stream.write_all(&[request(1, 1, 6, 511, 3), vec![1, 2, 3]].concat()).unwrap();
    assert_eq!(answered(&mut stream), (0, 6));
    let mut bytes = [0; 5];
    rig.disk.read(510, &mut bytes).unwrap();
    assert_eq!(bytes, [0, 1, 2, 3, 0]);
}

#[test]
fn flags_nobody_offered_are_invalid() {
    let rig = rig();
    let mut stream = rig.client();
    // FAST_ZERO is 16; NO_HOLE, 2, goes with WRITE_ZEROES alone.
    for (command, flags, error) in
        [(6, 16, 22), (6, 2, 0), (6, 3, 0), (6, 0x8000, 22), (0, 4, 22), (3, 2, 22), (4, 2, 22), (4, 1, 0), (3, 1, 0)]
    {
        stream.write_all(&request(command, flags, flags.into(), 0, 512)).unwrap();
        assert_eq!(answered(&mut stream), (error, flags.into()), "command {command} with {flags}");
    }
    stream.write_all(&[request(1, 32, 7, 0, 4), vec![9; 4], request(0, 0, 8, 0, 4)].concat()).unwrap();
    assert_eq!(answered(&mut stream), (22, 7));
    assert_eq!((answered(&mut stream), read(&mut stream, 4)), ((0, 8), vec![0; 4]), "its data was taken, not written");
}

#[cfg(target_os = "linux")]
#[test]
fn a_client_takes_one_file_descriptor() {
    let rig = rig();
    let path = rig.folder.path().join("s");
    let clients: Vec<_> = (0..8).map(|_| rig.client()).collect();
    let table = std::fs::read_to_string("/proc/net/unix").unwrap();
    // The connections of a socket have its path.
    let lines = table.lines().filter(|line| line.ends_with(path.to_str().unwrap()));
    let ours: Vec<_> = lines.map(|line| format!("socket:[{}]", line.split_whitespace().nth(6).unwrap())).collect();
    let all = std::fs::read_dir("/proc/self/fd").unwrap().filter_map(|file| std::fs::read_link(file.ok()?.path()).ok());
    let taken = all.filter(|link| ours.iter().any(|ours| link.to_str() == Some(ours))).count();
    assert_eq!(taken, 1 + clients.len(), "one listens");
}

#[test]
fn clients_that_break_the_protocol_or_die_harm_nobody() {
    let rig = rig();
    let mut other = rig.client();
    let whole = [request(1, 0, 1, 0, 8), vec![9; 8]].concat();
    for cut in 0..whole.len() {
        let mut stream = rig.client();
        stream.write_all(&whole[..cut]).unwrap();
    }
    for wrong in [vec![0xff; 28], request(1, 0, 1, 0, u32::MAX)] {
        let mut stream = rig.client();
        stream.write_all(&wrong).unwrap();
        assert_eq!(stream.read(&mut [0; 1]).unwrap_or(0), 0, "the connection ends");
    }
    let mut stream = rig.connect();
    stream.write_all(&[0; 64]).unwrap();
    other.write_all(&request(0, 0, 3, 0, 8)).unwrap();
    assert_eq!((answered(&mut other), read(&mut other, 8)), ((0, 3), vec![0; 8]), "no part of a write was carried out");
}

#[test]
fn replies_of_a_paced_disk_come_when_they_are_due_and_together() {
    let folder = tempfile::tempdir().unwrap();
    let disk = Arc::new(Memory::new(1 << 20).paced(Duration::from_millis(50)));
    let server = Server::start(&folder.path().join("s"), disk.clone()).unwrap();
    let rig = Rig { folder, disk, server };
    let mut stream = rig.client();
    let begin = std::time::Instant::now();
    let all: Vec<u8> = (0..16).flat_map(|cookie| request(0, 0, cookie, 0, 4)).collect();
    stream.write_all(&all).unwrap();
    let mut cookies: Vec<u64> = (0..16)
        .map(|_| {
            let (error, cookie) = answered(&mut stream);
            assert_eq!((error, read(&mut stream, 4)), (0, vec![0; 4]));
            cookie
        })
        .collect();
    let took = begin.elapsed();
    cookies.sort_unstable();
    assert_eq!(cookies, (0..16).collect::<Vec<_>>());
    assert!(took >= Duration::from_millis(50) && took < Duration::from_millis(500), "{took:?}");
}

#[test]
fn a_socket_in_use_is_refused_a_dead_one_replaced_and_a_file_left_alone() {
    let rig = rig();
    let path = rig.folder.path().join("s");
    let start = |path: &std::path::Path| Server::start(path, rig.disk.clone());
    assert!(matches!(start(&path), Err(SocketError::InUse(_))));
    let file = rig.folder.path().join("file");
    std::fs::write(&file, "text").unwrap();
    assert!(matches!(start(&file), Err(SocketError::Occupied(_))));
    let dead = rig.folder.path().join("dead");
    drop(UnixListener::bind(&dead).unwrap());
    drop(start(&dead).unwrap());
    assert!(!dead.exists());
    let Err(error) = start(&rig.folder.path().join("none/s")) else { panic!("there is no such folder") };
    assert!(error.to_string().starts_with("cannot listen on "), "{error}");
}

#[test]
fn a_server_that_ends_ends_its_clients() {
    let rig = rig();
    let mut stream = rig.client();
    drop(rig.server);
    assert_eq!(stream.read(&mut [0; 1]).unwrap_or(0), 0);
    assert!(!rig.folder.path().join("s").exists());
}
