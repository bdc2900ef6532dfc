//! Serves a disk in memory until a line comes on standard input: the protocols without an FTL, to be measured.
//!
//! `cargo run --release -p nandlab-serve --example memory SOCKET MEBIBYTES [127.0.0.1:PORT]`: NBD on the socket, NVMe on
//! the address.

use nandlab_serve::{nbd, nvme, Memory};
use std::path::Path;
use std::sync::Arc;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (socket, mebibytes, at) = match &arguments[..] {
        [socket, mebibytes] => (socket, mebibytes, None),
        [socket, mebibytes, at] => (socket, mebibytes, Some(at)),
        _ => return Err("usage: memory SOCKET MEBIBYTES [127.0.0.1:PORT]".into()),
    };
    let disk = Arc::new(Memory::new(mebibytes.parse::<usize>()? << 20));
    let _nbd = nbd::Server::start(Path::new(socket), disk.clone())?;
    let nvme = at.map(|at| nvme::Server::start(at, disk, nvme::Settings::default())).transpose()?;
    if let Some(nvme) = &nvme {
        println!("{}", nvme.connect_line());
    }
    std::io::stdin().read_line(&mut String::new())?;
    Ok(())
}
