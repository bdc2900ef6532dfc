//! Random NBD clients: requests beside a plain model, and bytes that break the protocol anywhere.

use nandlab_nand::random::Random;
use nandlab_serve::nbd::Server;
use nandlab_serve::{Export, Memory};
use std::io::{Read, Write};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

const SIZE: u64 = 16 << 10;

fn connect(path: &Path) -> UnixStream {
    let stream = UnixStream::connect(path).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    stream
}

/// Client flags and `GO` for the default export.
fn negotiation() -> Vec<u8> {
    [&3u32.to_be_bytes()[..], b"IHAVEOPT", &7u32.to_be_bytes(), &6u32.to_be_bytes(), &[0; 6]].concat()
}

/// Bytes the server sends until requests may follow: the greeting, two replies with information, the acknowledgement.
const GREETING: usize = 18 + (20 + 12) + (20 + 14) + 20;

struct Request {
    command: u16,
    flags: u16,
    offset: u64,
    length: u32,
    data: Vec<u8>,
}

impl Request {
    fn random(random: &mut Random) -> Self {
        let command = random.below(8) as u16;
        let near = |random: &mut Random| random.below(SIZE + 700);
        let (mut offset, mut length) = (near(random), random.below(3000) as u32);
        match random.below(20) {
            0 => offset = u64::MAX - random.below(4000),
            1 if command != 1 => length = u32::MAX - random.below(9) as u32,
            _ => {}
        }
        let fill = random.below(256) as u8;
        let data = if command == 1 { (0..length).map(|at| fill.wrapping_add(at as u8)).collect() } else { Vec::new() };
        // A disconnection would end the conversation; it is another test.
        let command = if command == 2 { 3 } else { command };
        Self { command, flags: random.below(4) as u16, offset, length, data }
    }

    fn bytes(&self, cookie: u64) -> Vec<u8> {
        let mut bytes = 0x2560_9513u32.to_be_bytes().to_vec();
        bytes.extend(self.flags.to_be_bytes());
        bytes.extend(self.command.to_be_bytes());
        bytes.extend(cookie.to_be_bytes());
        bytes.extend(self.offset.to_be_bytes());
        bytes.extend(self.length.to_be_bytes());
        bytes.extend(&self.data);
        bytes
    }

    /// The protocol's error number and reply data; changes the contents.
    fn expected(&self, contents: &mut [u8]) -> (u32, Vec<u8>) {
        let end = self.offset.checked_add(self.length.into()).filter(|end| *end <= SIZE);
        let (start, length) = (self.offset as usize, self.length as usize);
        match (self.command, end) {
            // NO_HOLE goes with WRITE_ZEROES alone.
            (command, _) if command != 6 && self.flags & 2 != 0 => (22, Vec::new()),
            (0, Some(_)) => (0, contents[start..start + length].to_vec()),
            (1, Some(_)) => {
                contents[start..start + length].copy_from_slice(&self.data);
                (0, Vec::new())
            }
            (3, _) => (0, Vec::new()),
            (4, Some(end)) => {
                for sector in contents[..end as usize / 512 * 512].chunks_exact_mut(512).skip(start.div_ceil(512)) {
                    sector.fill(0);
                }
                (0, Vec::new())
            }
            (6, Some(_)) => {
                contents[start..start + length].fill(0);
                (0, Vec::new())
            }
            (1 | 6, None) => (28, Vec::new()),
            _ => (22, Vec::new()),
        }
    }
}

#[test]
fn random_requests_do_what_a_plain_model_does() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("s");
    let disk = Arc::new(Memory::new(SIZE as usize));
    let _server = Server::start(&path, disk.clone()).unwrap();
    let mut contents = vec![0; SIZE as usize];
    let mut random = Random::new(0xD15C);
    for _ in 0..60 {
        let mut stream = connect(&path);
        stream.write_all(&negotiation()).unwrap();
        stream.read_exact(&mut [0; GREETING]).unwrap();
        // Some arrive together, some in pieces.
        let requests: Vec<Request> = (0..40).map(|_| Request::random(&mut random)).collect();
        let bytes: Vec<u8> = (0..).zip(&requests).flat_map(|(cookie, request)| request.bytes(cookie)).collect();
        let mut sender = stream.try_clone().unwrap();
        let piece = 1 + random.below(9000) as usize;
        let sending =
            std::thread::spawn(move || bytes.chunks(piece).for_each(|piece| sender.write_all(piece).unwrap()));
        for (cookie, request) in (0u64..).zip(&requests) {
            let (error, data) = request.expected(&mut contents);
            let mut head = [0; 16];
            stream.read_exact(&mut head).unwrap();
            let expected = [&0x6744_6698u32.to_be_bytes()[..], &error.to_be_bytes(), &cookie.to_be_bytes()].concat();
            assert_eq!(head[..], expected, "command {} at {} of {}", request.command, request.offset, request.length);
            let mut found = vec![0; data.len()];
            stream.read_exact(&mut found).unwrap();
            assert_eq!(found, data);
        }
        sending.join().unwrap();
    }
    let mut all = vec![0; SIZE as usize];
    disk.read(0, &mut all).unwrap();
    assert!(all == contents, "the disk and the model differ");
}

#[test]
fn broken_conversations_end_and_the_server_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("s");
    let server = Server::start(&path, Arc::new(Memory::new(SIZE as usize))).unwrap();
    let mut random = Random::new(0xBAD);
    for _ in 0..400 {
        let mut bytes = negotiation();
        for _ in 0..random.below(4) {
            bytes.extend(Request::random(&mut random).bytes(1));
        }
        for _ in 0..1 + random.below(4) {
            let at = random.below(bytes.len() as u64) as usize;
            match random.below(3) {
                0 => bytes[at] ^= 1 << random.below(8),
                1 => bytes[at] = random.below(256) as u8,
                _ => bytes.truncate(at + 1),
            }
        }
        let mut stream = connect(&path);
        // The server may close the connection before it has read everything.
        let _ = stream.write_all(&bytes);
        let _ = stream.shutdown(Shutdown::Write);
        match stream.read_to_end(&mut Vec::new()) {
            Ok(_) => {}
            Err(error) => {
                assert_eq!(error.kind(), std::io::ErrorKind::ConnectionReset, "the conversation does not end");
            }
        }
    }
    let mut stream = connect(&path);
    stream.write_all(&negotiation()).unwrap();
    stream.read_exact(&mut [0; GREETING]).unwrap();
    drop(stream);
    drop(server);
}
