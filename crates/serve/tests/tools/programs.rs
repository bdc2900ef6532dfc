//! Third-party programs as clients on a memory disk: nbdinfo and nbdcopy, qemu-io, fio, mke2fs, e2fsck and debugfs.
//!
//! A missing program is named on stderr and skipped.

use nandlab_serve::{fuse, nbd, Export, Memory};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::Arc;
use std::time::{Duration, Instant};

const SIZE: usize = 64 << 20;

struct Served {
    folder: tempfile::TempDir,
    disk: Arc<Memory>,
    server: nbd::Server,
}

impl Served {
    fn new(disk: Memory) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let disk = Arc::new(disk);
        let server = nbd::Server::start(&folder.path().join("socket"), disk.clone()).unwrap();
        Self { folder, disk, server }
    }

    fn socket(&self) -> PathBuf {
        self.folder.path().join("socket")
    }

    fn uri(&self) -> String {
        format!("nbd+unix:///?socket={}", self.socket().display())
    }

    fn contents(&self) -> Vec<u8> {
        let mut bytes = vec![0; SIZE];
        self.disk.read(0, &mut bytes).unwrap();
        bytes
    }
}

/// Runs a program to its end; `None` if it is not installed.
fn run(program: &str, arguments: &[&str], folder: &Path) -> Option<Output> {
    let path = format!("{}:/usr/sbin:/sbin", std::env::var("PATH").unwrap_or_default());
    let found = std::env::split_paths(&path).any(|folder| folder.join(program).is_file());
    if !found {
        eprintln!("skipped: {program} is not installed");
        return None;
    }
    let output = Command::new(program).args(arguments).current_dir(folder).env("PATH", path).output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert!(
        output.status.success(),
        "{program} {arguments:?}: {}\n{}{}",
        output.status,
        text(&output.stdout),
        text(&output.stderr)
    );
    Some(output)
}

/// Bytes no part of a disk has by chance.
fn pattern(count: usize) -> Vec<u8> {
    (0..count as u64).map(|at| (at.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 56) as u8).collect()
}

#[test]
fn nbdinfo_reads_what_the_export_can_do() {
    let served = Served::new(Memory::new(SIZE));
    let Some(output) = run("nbdinfo", &["--json", &served.uri()], served.folder.path()) else { return };
    let text = String::from_utf8(output.stdout).unwrap();
    for expected in [
        "\"export-size\": 67108864",
        "\"protocol\": \"newstyle-fixed\"",
        "\"is_read_only\": false",
        "\"can_flush\": true",
        "\"can_fua\": true",
        "\"can_trim\": true",
        "\"can_zero\": true",
        "\"can_multi_conn\": true",
        "\"block_size_minimum\": 512",
        "\"block_size_preferred\": 4096",
        "\"block_size_maximum\": 33554432",
    ] {
        assert!(text.contains(expected), "{expected} is not in {text}");
    }
    let list = run("nbdinfo", &["--list", &served.uri()], served.folder.path()).unwrap();
    assert!(String::from_utf8(list.stdout).unwrap().contains("export=\"disk\""));
}

#[test]
fn nbdcopy_writes_and_reads_back_a_whole_disk() {
    let served = Served::new(Memory::new(SIZE));
    let bytes = pattern(SIZE);
    std::fs::write(served.folder.path().join("in"), &bytes).unwrap();
    if run("nbdcopy", &["in", &served.uri()], served.folder.path()).is_none() {
        return;
    }
    assert!(served.contents() == bytes, "what was written");
    run("nbdcopy", &[&served.uri(), "out"], served.folder.path());
    assert!(std::fs::read(served.folder.path().join("out")).unwrap() == bytes, "what was read");
}

#[test]
fn qemu_writes_zeroes_and_discards() {
    let served = Served::new(Memory::new(SIZE));
    let commands = [
        "write -P 0xab 1M 2M",
        "write -f -P 0xcd 513 4k",
        "write -z 1536k 64k",
        "discard 2M 512k",
        "flush",
        "read -P 0xab 1M 512k",
        "read -P 0 1536k 64k",
        "read -P 0xab 1600k 448k",
        "read -P 0 2M 512k",
        "read -P 0xab 2560k 512k",
        "read -P 0xcd 513 4k",
    ];
    let mut arguments = vec!["-f", "raw"];
    commands.iter().for_each(|command| arguments.extend(["-c", command]));
    let uri = served.uri();
    arguments.push(&uri);
    let Some(output) = run("qemu-io", &arguments, served.folder.path()) else { return };
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(!text.contains("fail"), "{text}");
}

/// Several jobs write with several requests outstanding each, and read their data back.
#[test]
fn fio_verifies_what_it_wrote_at_once_and_paced() {
    for pace in [Duration::ZERO, Duration::from_micros(300)] {
        let served = Served::new(Memory::new(SIZE).paced(pace));
        let uri = format!("--uri={}", served.uri());
        let arguments = [
            "--name=job",
            "--ioengine=nbd",
            &uri,
            "--rw=randwrite",
            "--bsrange=512-64k",
            "--blockalign=512",
            "--iodepth=16",
            "--numjobs=2",
            "--size=8m",
            "--offset_increment=16m",
            "--verify=crc32c",
            "--verify_fatal=1",
            "--fsync=32",
            "--group_reporting",
        ];
        if run("fio", &arguments, served.folder.path()).is_none() {
            return;
        }
        // The server notices their leaving slightly after fio's end.
        let until = Instant::now() + Duration::from_secs(10);
        while served.server.clients() > 0 && Instant::now() < until {
            std::thread::sleep(Duration::from_millis(5));
        }
        assert_eq!(served.server.clients(), 0, "every client has left");
    }
}

#[test]
fn a_file_system_is_made_in_the_file_and_checked() {
    let served = Served::new(Memory::new(SIZE));
    let at = served.folder.path().join("mounted");
    std::fs::create_dir(&at).unwrap();
    let mounted = match fuse::mount(&at, served.disk.clone()) {
        Ok(mounted) => mounted,
        Err(error) => {
            eprintln!("skipped: FUSE cannot be used here: {error}");
            return;
        }
    };
    let folder = served.folder.path();
    std::fs::write(folder.join("file"), pattern(3 << 20)).unwrap();
    let done = run("mke2fs", &["-q", "-t", "ext4", "-b", "4096", "mounted/disk"], folder)
        .and_then(|_| run("debugfs", &["-w", "-R", "write file copied", "mounted/disk"], folder))
        .and_then(|_| run("e2fsck", &["-f", "-n", "mounted/disk"], folder))
        .and_then(|_| run("debugfs", &["-R", "dump copied back", "mounted/disk"], folder));
    if done.is_some() {
        assert!(std::fs::read(folder.join("back")).unwrap() == pattern(3 << 20), "what was copied");
    }
    drop(mounted);
    assert_eq!(std::fs::read_dir(&at).unwrap().count(), 0, "nothing stays mounted");
}

#[test]
fn a_hole_in_the_file_reads_as_zeros_and_its_size_stays() {
    let served = Served::new(Memory::new(SIZE));
    let at = served.folder.path().join("mounted");
    std::fs::create_dir(&at).unwrap();
    let Ok(_mounted) = fuse::mount(&at, served.disk.clone()) else {
        eprintln!("skipped: FUSE cannot be used here");
        return;
    };
    let file = at.join(fuse::FILE);
    assert_eq!(std::fs::metadata(&file).unwrap().len(), SIZE as u64);
    std::fs::OpenOptions::new().write(true).open(&file).unwrap().set_len(1).unwrap_err();
    served.disk.write(0, &[7; 8192], false).unwrap();
    if run("fallocate", &["--punch-hole", "--offset", "100", "--length", "5000", "mounted/disk"], served.folder.path())
        .is_some()
    {
        let bytes = std::fs::read(&file).unwrap();
        assert_eq!(bytes.len(), SIZE);
        assert!(bytes[..100].iter().chain(&bytes[5100..8192]).all(|&byte| byte == 7));
        assert!(bytes[100..5100].iter().all(|&byte| byte == 0));
    }
}
