//! The target `nvme`: a host's PDUs over TCP, and the required answers.
//!
//! ```text
//! one byte: bit 0 header digests, bit 1 data digests, bit 2 the admin queue in place of an I/O queue; then items:
//!   0..160 l m n    a command of the I/O queue by the table below, on blocks from l, m, as many as n % 64 + 1
//!   160..200 bytes  64 bytes as a command, whatever they say
//!   200.. n bytes   n bytes as they are; nothing is expected from there on
//! ```

use nandlab_serve::nvme::{Server, Settings};
use nandlab_serve::Memory;
use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::sync::Arc;
use std::time::Duration;

const BLOCK: usize = 512;
const BLOCKS: usize = 2048;
/// Longer than any answer takes on a loaded machine.
const PATIENCE: Duration = Duration::from_secs(20);
/// Data that fits a command capsule.
const CAPSULE: usize = 8 << 10;

const FLUSH: u8 = 0x00;
const WRITE: u8 = 0x01;
const READ: u8 = 0x02;
const COMPARE: u8 = 0x05;
const WRITE_ZEROES: u8 = 0x08;
const DATASET: u8 = 0x09;
const VERIFY: u8 = 0x0C;
const FABRICS: u8 = 0x7F;
const EVENT_REQUEST: u8 = 0x0C;

/// CRC-32C, bit by bit (RFC 3720, B.4).
fn crc32c(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(!0, |sum, &byte| {
        (0..8).fold(sum ^ u32::from(byte), |sum, _| if sum & 1 == 1 { sum >> 1 ^ 0x82F6_3B78 } else { sum >> 1 })
    })
}

fn u16_at(bytes: &[u8], at: usize) -> u16 {
    u16::from_le_bytes([bytes[at], bytes[at + 1]])
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from(u16_at(bytes, at)) | u32::from(u16_at(bytes, at + 2)) << 16
}

/// A submission queue entry.
fn entry(opcode: u8, first: u64, blocks: usize, data: usize, is_in_capsule: bool) -> [u8; 64] {
    let mut entry = [0; 64];
    (entry[0], entry[1], entry[4]) = (opcode, 0x40, 1);
    entry[32..36].copy_from_slice(&(data as u32).to_le_bytes());
    entry[39] = if is_in_capsule { 0x01 } else { 0x5A };
    entry[40..48].copy_from_slice(&first.to_le_bytes());
    entry[48..50].copy_from_slice(&(blocks.wrapping_sub(1) as u16).to_le_bytes());
    entry
}

/// A command's end.
struct Answer {
    status: u16,
    result: u32,
    data: Vec<u8>,
}

/// A host's side of a connection.
struct Host {
    stream: TcpStream,
    has_header_digest: bool,
    has_data_digest: bool,
    next_id: u16,
}

impl Host {
    /// Opens a connection and agrees on digests.
    fn begin(server: &Server, flags: u8) -> Self {
        let mut stream = TcpStream::connect(server.address()).expect("the server listens");
        stream.set_read_timeout(Some(PATIENCE)).expect("a socket takes a limit");
        stream.set_nodelay(true).expect("a socket takes options");
        let mut first = [0; 128];
        (first[2], first[4], first[11]) = (128, 128, flags & 3);
        stream.write_all(&first).expect("the server reads");
        let mut answer = [0; 128];
        stream.read_exact(&mut answer).expect("the server answers");
        assert_eq!((answer[0], answer[11]), (1, flags & 3), "what was agreed on");
        Self { stream, has_header_digest: flags & 1 != 0, has_data_digest: flags & 2 != 0, next_id: 0 }
    }

    /// Opens a queue; the controller's number.
    fn connect(&mut self, server: &Server, queue: u16, controller: u16) -> u16 {
        let mut command = entry(FABRICS, 0, 1, 1024, true);
        command[4] = 1;
        command[40..48].fill(0);
        command[42..44].copy_from_slice(&queue.to_le_bytes());
        command[44..46].copy_from_slice(&31u16.to_le_bytes());
        command[48..52].fill(0);
        let mut data = [0; 1024];
        data[0] = 7;
        data[16..18].copy_from_slice(&controller.to_le_bytes());
        for (at, name) in [(256, server.nqn()), (512, "nqn.2014-08.org.nvmexpress:uuid:fuzz")] {
            data[at..at + name.len()].copy_from_slice(name.as_bytes());
        }
        let answer = self.carry_out(command, &data).expect("the queue stays");
        assert_eq!(answer.status, 0, "Connect is as it should be");
        answer.result as u16
    }

    /// A PDU with its digests.
    fn pdu(&self, kind: u8, flags: u8, header: &[u8], data: &[u8]) -> Vec<u8> {
        let plain = 8 + header.len();
        let mut pdu = vec![kind, flags, plain as u8, 0, 0, 0, 0, 0];
        pdu.extend(header);
        let head_digest = if self.has_header_digest { 4 } else { 0 };
        let has_digest = self.has_data_digest && !data.is_empty();
        pdu[1] |= u8::from(self.has_header_digest) | u8::from(has_digest) << 1;
        pdu[3] = if data.is_empty() { 0 } else { (plain + head_digest) as u8 };
        let length = plain + head_digest + data.len() + if has_digest { 4 } else { 0 };
        pdu[4..8].copy_from_slice(&(length as u32).to_le_bytes());
        if self.has_header_digest {
            pdu.extend(crc32c(&pdu[..plain]).to_le_bytes());
        }
        pdu.extend(data);
        if has_digest {
            pdu.extend(crc32c(data).to_le_bytes());
        }
        pdu
    }

    /// The next PDU: its kind, flags, header and data; `None` if the server has left.
    fn next(&mut self) -> Option<(u8, u8, Vec<u8>, Vec<u8>)> {
        let mut head = [0; 8];
        if let Err(error) = self.stream.read_exact(&mut head) {
            let has_left = matches!(error.kind(), ErrorKind::UnexpectedEof | ErrorKind::ConnectionReset);
            assert!(has_left, "the server says nothing: {error}");
            return None;
        }
        let (header, offset, length) = (usize::from(head[2]), usize::from(head[3]), u32_at(&head, 4) as usize);
        assert!(length >= header && header >= 24 && length <= 2 << 20, "a PDU of {length} bytes");
        let mut all = head.to_vec();
        all.resize(length, 0);
        self.stream.read_exact(&mut all[8..]).expect("the server says all of it");
        if self.has_header_digest && head[0] != 3 {
            assert_eq!(crc32c(&all[..header]), u32_at(&all, header), "a header's digest");
        }
        let mut data = Vec::new();
        if head[0] == 7 {
            let end = length - if head[1] & 2 != 0 { 4 } else { 0 };
            data = all[offset..end].to_vec();
            assert!(!self.has_data_digest || crc32c(&data) == u32_at(&all, end), "data's digest");
        }
        Some((head[0], head[1], all[..header].to_vec(), data))
    }

    /// Sends a command with the data it may ask for, and takes everything up to its end.
    fn carry_out(&mut self, mut command: [u8; 64], data: &[u8]) -> Option<Answer> {
        let id = self.next_id;
        self.next_id = id.wrapping_add(1);
        command[2..4].copy_from_slice(&id.to_le_bytes());
        let carried = if command[39] == 0x01 { data } else { &[] };
        let pdu = self.pdu(4, 0, &command, carried);
        self.stream.write_all(&pdu).ok()?;
        let mut answer = Answer { status: 0, result: 0, data: Vec::new() };
        loop {
            let (kind, flags, header, found) = self.next()?;
            match kind {
                5 => {
                    assert_eq!(u16_at(&header, 20), id, "whose answer");
                    (answer.status, answer.result) = (u16_at(&header, 22) >> 1, u32_at(&header, 8));
                    return Some(answer);
                }
                7 => {
                    assert_eq!(u16_at(&header, 8), id, "whose data");
                    assert_eq!(u32_at(&header, 12) as usize, answer.data.len(), "data in order");
                    answer.data.extend(found);
                    if flags & 8 != 0 {
                        return Some(answer);
                    }
                }
                9 => {
                    let (from, length) = (u32_at(&header, 12) as usize, u32_at(&header, 16) as usize);
                    let mut sent = data.get(from..).unwrap_or_default().to_vec();
                    sent.resize(length, 0);
                    let mut rest = [0; 16];
                    rest[..4].copy_from_slice(&header[8..12]);
                    rest[4..8].copy_from_slice(&header[12..16]);
                    rest[8..12].copy_from_slice(&header[16..20]);
                    let pdu = self.pdu(6, 4, &rest, &sent);
                    self.stream.write_all(&pdu).ok()?;
                }
                3 => return None,
                other => panic!("a PDU of kind {other}"),
            }
        }
    }
}

/// The disk as the host knows it: a block's byte, or nothing where a command without a model may have changed it.
struct Model([Option<u8>; BLOCKS]);

impl Model {
    /// Carries out a command of the table on both sides.
    fn step(&mut self, host: &mut Host, tag: u8, place: u16, count: u8) -> Option<()> {
        let (first, blocks) = (usize::from(place) % (BLOCKS + 2), usize::from(count) % 64 + 1);
        let fits = first + blocks <= BLOCKS;
        let bytes = vec![tag ^ count; blocks * BLOCK];
        let all_known = fits.then(|| self.0[first..first + blocks].iter().copied().collect::<Option<Vec<u8>>>());
        let (opcode, data): (u8, &[u8]) = match tag {
            0..40 => (READ, &[]),
            40..100 => (WRITE, &bytes),
            100..115 => (COMPARE, &bytes),
            115..130 => (WRITE_ZEROES, &[]),
            130..145 => (DATASET, &[]),
            145..152 => (VERIFY, &[]),
            _ => (FLUSH, &[]),
        };
        let transferred = if opcode == READ { bytes.len() } else { data.len() };
        let is_in_capsule = opcode != READ && data.len() <= CAPSULE && tag % 2 == 0;
        let mut command = entry(opcode, first as u64, blocks, transferred, is_in_capsule);
        let mut range = [0; 16];
        if opcode == DATASET {
            range[4..8].copy_from_slice(&(blocks as u32).to_le_bytes());
            range[8..16].copy_from_slice(&(first as u64).to_le_bytes());
            command = entry(opcode, 0, 1, 16, true);
            command[44] = 4;
        }
        let answer = host.carry_out(command, if opcode == DATASET { &range } else { data })?;
        if opcode == FLUSH || !fits {
            let expected = if opcode == FLUSH { 0 } else { 0x4080 };
            assert_eq!(answer.status, expected, "opcode {opcode:#x}, {blocks} blocks from {first}");
            return Some(());
        }
        match (opcode, all_known.flatten()) {
            (READ, known) => {
                assert_eq!((answer.status, answer.data.len()), (0, bytes.len()));
                let found = answer.data.chunks(BLOCK);
                let is_right = |(block, byte): (&[u8], &u8)| block.iter().all(|one| one == byte);
                assert!(known.is_none_or(|known| found.zip(&known).all(is_right)), "{blocks} blocks from {first}");
            }
            (COMPARE, Some(known)) => {
                let is_equal = known.iter().all(|&byte| byte == tag ^ count);
                assert_eq!(answer.status, if is_equal { 0 } else { 0x4285 });
            }
            (COMPARE, None) => {}
            _ => assert_eq!(answer.status, 0, "opcode {opcode:#x}"),
        }
        match opcode {
            WRITE => self.0[first..first + blocks].fill(Some(tag ^ count)),
            WRITE_ZEROES | DATASET => self.0[first..first + blocks].fill(Some(0)),
            _ => {}
        }
        Some(())
    }
}

pub(super) fn run(data: &[u8]) {
    let Some((&flags, data)) = data.split_first() else { return };
    let disk = Arc::new(Memory::new(BLOCKS * BLOCK));
    let server = Server::start("127.0.0.1:0", disk, Settings::default()).expect("a free port");
    let mut admin = Host::begin(&server, flags);
    let controller = admin.connect(&server, 0, u16::MAX);
    if flags & 4 != 0 {
        play(&mut admin, true, data);
        return;
    }
    let mut enable = entry(FABRICS, 0, 1, 0, false);
    (enable[4], enable[44], enable[48]) = (0, 0x14, 1);
    assert_eq!(admin.carry_out(enable, &[]).map(|answer| answer.status), Some(0), "the controller is enabled");
    let mut queues = entry(0x09, 7, 1, 0, false);
    (queues[4], queues[44]) = (0, 0);
    assert_eq!(admin.carry_out(queues, &[]).map(|answer| answer.status), Some(0), "there are I/O queues");
    let mut host = Host::begin(&server, flags);
    assert_eq!(host.connect(&server, 1, controller), controller);
    play(&mut host, false, data);
}

/// Plays the items on a queue.
fn play(host: &mut Host, is_admin: bool, mut data: &[u8]) {
    let mut model = Model([Some(0); BLOCKS]);
    while let Some((&tag, rest)) = data.split_first() {
        let goes_on = match tag {
            0..160 => {
                let Some((&[low, high, count], rest)) = rest.split_first_chunk() else { return };
                data = rest;
                if is_admin {
                    continue;
                }
                model.step(host, tag, u16::from_le_bytes([low, high]), count)
            }
            160..200 => {
                let Some((command, rest)) = rest.split_first_chunk::<64>() else { return };
                data = rest;
                if is_admin && command[0] == EVENT_REQUEST {
                    continue;
                }
                if !matches!(command[0], FLUSH | READ | COMPARE | VERIFY) {
                    model.0.fill(None);
                }
                host.carry_out(*command, &[]).map(drop)
            }
            _ => {
                let (&count, rest) = rest.split_first().unwrap_or((&0, rest));
                let _ = host.stream.write_all(&rest[..usize::from(count).min(rest.len())]);
                let _ = host.stream.shutdown(Shutdown::Write);
                while host.next().is_some() {}
                None
            }
        };
        if goes_on.is_none() {
            return;
        }
    }
}
