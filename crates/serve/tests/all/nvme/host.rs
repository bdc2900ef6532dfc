//! A host for tests, PDU by PDU.

use nandlab_serve::nvme::{Server, Settings};
use nandlab_serve::{Described, Memory};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::time::Duration;

pub const SIZE: usize = 8 << 20;

pub fn memory() -> Arc<Memory> {
    Arc::new(Memory::new(SIZE))
}

/// A server whose patience is 300 ms.
pub fn server(drive: Arc<dyn Described>, settings: Settings) -> Server {
    Server::start_with("127.0.0.1:0", drive, settings, crate::support::means(None).0).unwrap()
}

/// A connection.
pub struct Host(pub TcpStream);

/// A PDU from the server: its kind and flags, its header, its data.
#[derive(Debug)]
pub struct Pdu {
    pub kind: u8,
    pub header: Vec<u8>,
    pub data: Vec<u8>,
}

impl Pdu {
    pub fn u16(&self, at: usize) -> u16 {
        u16::from_le_bytes([self.header[at], self.header[at + 1]])
    }

    pub fn u32(&self, at: usize) -> u32 {
        u32::from(self.u16(at)) | u32::from(self.u16(at + 2)) << 16
    }

    /// A response's command and its status without "do not retry".
    pub fn status(&self) -> (u16, u16) {
        assert_eq!(self.kind, 5, "{self:?}");
        (self.u16(20), self.u16(22) >> 1 & 0x7FF)
    }
}

pub fn pdu(kind: u8, flags: u8, header: &[u8], data: &[u8]) -> Vec<u8> {
    let head = 8 + header.len();
    let offset = if data.is_empty() { 0 } else { head as u8 };
    let length = (head + data.len()) as u32;
    [&[kind, flags, head as u8, offset][..], &length.to_le_bytes(), header, data].concat()
}

pub fn init(digests: u8) -> Vec<u8> {
    let mut header = [0; 120];
    header[3] = digests;
    pdu(0, 0, &header, &[])
}

/// A command by fields at offsets, with its flags and, as a data pointer, `kind` and `length`.
pub fn command(opcode: u8, id: u16, pointer: (u8, u32), fields: &[(usize, u64, usize)]) -> [u8; 64] {
    let mut entry = [0; 64];
    (entry[0], entry[1], entry[39]) = (opcode, 0x40, pointer.0);
    entry[2..4].copy_from_slice(&id.to_le_bytes());
    entry[32..36].copy_from_slice(&pointer.1.to_le_bytes());
    for &(at, value, bytes) in fields {
        entry[at..at + bytes].copy_from_slice(&value.to_le_bytes()[..bytes]);
    }
    entry
}

pub const IN_CAPSULE: u8 = 0x01;
pub const BY_TRANSPORT: u8 = 0x5A;

/// A read or write of `blocks` blocks of 512 bytes.
pub fn transfer(opcode: u8, id: u16, pointer: u8, block: u64, blocks: u32) -> [u8; 64] {
    let fields = [(4, 1, 4), (40, block, 8), (48, u64::from(blocks - 1), 2)];
    command(opcode, id, (pointer, blocks * 512), &fields)
}

pub fn capsule(entry: &[u8; 64], data: &[u8]) -> Vec<u8> {
    pdu(4, 0, entry, data)
}

/// Connect for a queue, with a host identifier that is `host` everywhere.
pub fn connect(queue: u16, controller: u16, nqn: &str, host: u8, keep_alive: u32) -> Vec<u8> {
    let fields = [(4, 1, 1), (42, queue.into(), 2), (44, 31, 2), (48, keep_alive.into(), 4)];
    let entry = command(0x7F, 0, (IN_CAPSULE, 1024), &fields);
    let mut data = vec![0; 1024];
    data[..16].fill(host);
    data[16..18].copy_from_slice(&controller.to_le_bytes());
    data[256..256 + nqn.len()].copy_from_slice(nqn.as_bytes());
    data[512..530].copy_from_slice(b"nqn.2014-08.org:me");
    capsule(&entry, &data)
}

impl Host {
    pub fn open(server: &Server) -> Self {
        let stream = TcpStream::connect(server.address()).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
        Self(stream)
    }

    /// A connection behind its first PDU.
    pub fn begun(server: &Server) -> Self {
        let mut host = Self::open(server);
        host.send(&init(0));
        assert_eq!(host.pdu().unwrap().kind, 1);
        host
    }

    pub fn send(&mut self, bytes: &[u8]) {
        self.0.write_all(bytes).unwrap();
    }

    /// The next PDU; `None` at the connection's end.
    pub fn pdu(&mut self) -> Option<Pdu> {
        let mut head = [0; 8];
        self.0.read_exact(&mut head).ok()?;
        let length = u32::from_le_bytes(head[4..].try_into().unwrap()) as usize;
        let mut bytes = head.to_vec();
        bytes.resize(length, 0);
        self.0.read_exact(&mut bytes[8..]).ok()?;
        let (header, data) = (usize::from(head[2]), usize::from(head[3]));
        let data = if data > 0 { bytes[data..].to_vec() } else { bytes[header..].to_vec() };
        Some(Pdu { kind: head[0], header: bytes[..header].to_vec(), data })
    }

    /// Status of the next response.
    pub fn status(&mut self) -> (u16, u16) {
        self.pdu().expect("the connection is open").status()
    }

    /// An enabled controller with four I/O queues: its admin queue, its identifier.
    pub fn admin(server: &Server, keep_alive: u32) -> (Self, u16) {
        let mut host = Self::begun(server);
        host.send(&connect(0, 0xFFFF, server.nqn(), 1, keep_alive));
        let answer = host.pdu().unwrap();
        assert_eq!(answer.status(), (0, 0));
        let id = answer.u16(8);
        let enable = command(0x7F, 1, (0, 0), &[(44, 0x14, 4), (48, 0x0046_0001, 4)]);
        let queues = command(0x09, 2, (0, 0), &[(40, 7, 4), (44, 0x0003_0003, 4)]);
        host.send(&[capsule(&enable, &[]), capsule(&queues, &[])].concat());
        assert_eq!((host.status(), host.status()), ((1, 0), (2, 0)));
        (host, id)
    }

    /// Both queues of a controller: admin and I/O.
    pub fn pair(server: &Server) -> (Self, Self) {
        let (admin, id) = Self::admin(server, 0);
        let mut queue = Self::begun(server);
        queue.send(&connect(1, id, server.nqn(), 1, 0));
        assert_eq!(queue.status(), (0, 0));
        (admin, queue)
    }
}
