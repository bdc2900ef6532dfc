//! An image is a regular file.

use nandlab_nand::backed::{Backed, ImageFile};
use std::path::Path;

#[test]
fn whatever_else_is_there_is_refused_at_once() {
    let directory = tempfile::tempdir().unwrap();
    let pipe = directory.path().join("pipe");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let socket = directory.path().join("socket");
    let _bound = std::os::unix::net::UnixListener::bind(&socket).unwrap();
    for path in [&*pipe, &*socket, directory.path(), Path::new("/dev/zero")] {
        let refused = Backed::open(path).unwrap_err().to_string();
        let says = if path.is_dir() { "directory" } else { "it is no regular file" };
        assert!(refused.contains(says), "{refused}");
        assert!(ImageFile::look(path).unwrap_err().to_string().contains(says));
    }
}
