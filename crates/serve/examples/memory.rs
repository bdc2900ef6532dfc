//! Serves a disk in memory until a line comes on standard input: the protocol without an FTL, to be measured.
//!
//! `cargo run --release -p nandlab-serve --example memory SOCKET MEBIBYTES`

use nandlab_serve::{nbd, Memory};
use std::path::Path;
use std::sync::Arc;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().collect();
    let [_, socket, mebibytes] = &arguments[..] else { return Err("usage: memory SOCKET MEBIBYTES".into()) };
    let _server = nbd::Server::start(Path::new(socket), Arc::new(Memory::new(mebibytes.parse::<usize>()? << 20)))?;
    std::io::stdin().read_line(&mut String::new())?;
    Ok(())
}
