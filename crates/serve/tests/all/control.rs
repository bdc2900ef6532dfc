//! The socket beside an image.

use crate::support::{create, means, open};
use nandlab_serve::control::{ask, socket_of, Control};
use nandlab_serve::{Disk, Export};
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// An image's path in a new folder, and its disk.
fn image() -> (tempfile::TempDir, PathBuf, Arc<Disk>) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("image");
    create(&path, "page", &[]);
    let disk = Arc::new(open(&path));
    (folder, path, disk)
}

fn is_answered(path: &Path) -> bool {
    ask(path, "stats").unwrap().is_some_and(|answer| answer.contains("\"written_sectors\""))
}

#[test]
fn silent_clients_delay_neither_questions_nor_the_end() {
    let (_folder, path, disk) = image();
    let control = Control::start(&path, disk.clone()).unwrap();
    let start = Instant::now();
    // More than the socket has places for.
    let mut silent: Vec<_> = (0..100).map(|_| UnixStream::connect(socket_of(&path)).unwrap()).collect();
    silent.iter_mut().for_each(|stream| drop(stream.write_all(b"sta")));
    assert!(is_answered(&path));
    drop(control);
    assert!(start.elapsed() < Duration::from_secs(5), "{:?}", start.elapsed());
    assert_eq!(Arc::strong_count(&disk), 1, "no thread is left");
}

#[test]
fn a_silent_client_is_cut_off() {
    let (_folder, path, disk) = image();
    let _control = Control::start_with(&path, disk, means(None).0).unwrap();
    let stream = UnixStream::connect(socket_of(&path)).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
    let mut line = String::new();
    assert_eq!(BufReader::new(stream).read_line(&mut line).unwrap_or(0), 0, "{line}");
}

#[test]
fn a_path_longer_than_a_socket_may_have_works() {
    let folder = tempfile::tempdir().unwrap();
    let deep = folder.path().join("d".repeat(120)).join("e".repeat(120));
    fs::create_dir_all(&deep).unwrap();
    for name in ["image".into(), "i".repeat(200)] {
        let path = deep.join(&name);
        create(&path, "page", &[]);
        let disk = Arc::new(open(&path));
        let control = Control::start(&path, disk).unwrap();
        assert!(is_answered(&path), "{name}");
        drop(control);
        assert!(!socket_of(&path).exists());
    }
}

#[test]
fn an_image_has_one_socket_whatever_its_name() {
    let (folder, path, disk) = image();
    fs::create_dir(folder.path().join("links")).unwrap();
    let link = folder.path().join("links/link");
    std::os::unix::fs::symlink(&path, &link).unwrap();
    for served in [&link, &path] {
        let _control = Control::start(served, disk.clone()).unwrap();
        assert!(is_answered(&link) && is_answered(&path));
        assert!(folder.path().join("image.control").exists());
    }
    assert_eq!(ask(&link, "stats").unwrap(), None);
}

#[test]
fn a_file_with_the_sockets_name_stays_and_a_live_socket_is_refused() {
    let (_folder, path, disk) = image();
    let socket = socket_of(&path);
    fs::write(&socket, "mine").unwrap();
    let refused = |disk| Control::start(&path, disk).err().unwrap().to_string();
    assert!(refused(disk.clone()).starts_with("a file with this name is there"));
    assert_eq!(fs::read(&socket).unwrap(), b"mine");
    fs::remove_file(&socket).unwrap();
    let live = UnixListener::bind(&socket).unwrap();
    assert_eq!(refused(disk.clone()), "another process listens on it");
    drop(live);
    let _control = Control::start(&path, disk.clone()).unwrap();
    assert!(is_answered(&path), "a dead one is replaced");
    assert!(disk.size() > 0);
}

#[test]
fn a_question_without_a_thread_is_answered_with_an_error() {
    let (_folder, path, disk) = image();
    let (means, said) = means(Some(0));
    let _control = Control::start_with(&path, disk, means).unwrap();
    let mut line = String::new();
    BufReader::new(UnixStream::connect(socket_of(&path)).unwrap()).read_line(&mut line).unwrap();
    assert!(line.starts_with("{\"error\":\"no thread can be made"), "{line}");
    assert!(is_answered(&path));
    assert_eq!(said.lock().unwrap().len(), 1);
}
