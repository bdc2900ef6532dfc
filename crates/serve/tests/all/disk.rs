//! A byte disk: any offset, any length, on every FTL; its own reports; damage.

use crate::support::{create, ftls, open, sentence};
use nandlab_lab::config::{Experiment, Format};
use nandlab_nand::random::Random;
use nandlab_nand::Origin;
use nandlab_serve::control::{ask, Control};
use nandlab_serve::regions::{Region, Regions};
use nandlab_serve::{Disk, Due, Export, Options};
use std::fs;
use std::sync::Arc;
use std::time::Duration;

/// Random requests at any offset against plain bytes, then the same after the disk was closed and opened.
fn is_plain_bytes(ftl: &str, sets: &[&str], requests: u64) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("image");
    create(&path, ftl, sets);
    let mut disk = open(&path);
    let mut random = Random::new(3);
    // A part only, so it is written more than once.
    let room = (disk.size() / 4) as usize;
    let mut plain = vec![0; room];
    for number in 0..requests {
        let length = [1, 511, 512, 513, 4096, 5000, 20_000][random.below(7) as usize];
        let offset = random.below((room - length) as u64) as usize;
        let (at, range) = (offset as u64, offset..offset + length);
        match random.below(10) {
            0..=4 => {
                plain[range.clone()].fill(number as u8 | 1);
                disk.write(at, &plain[range], number % 9 == 0).unwrap();
            }
            5 => {
                plain[range].fill(0);
                disk.write_zeroes(at, length as u64, number % 2 == 0, false).unwrap();
            }
            6 => drop(disk.flush().unwrap()),
            _ => {
                let mut found = vec![0xEE; length];
                disk.read(at, &mut found).unwrap();
                assert!(found == plain[range], "{ftl}, request {number}: {length} bytes from {offset} on");
            }
        }
        if number == requests / 2 {
            disk.close().unwrap();
            drop(disk);
            disk = open(&path);
        }
    }
    let mut found = vec![0; room];
    disk.read(0, &mut found).unwrap();
    assert!(found == plain, "{ftl}");
    let checked = disk.check().unwrap();
    assert!(checked.is_sound() && checked.pages > 0, "{ftl}: {checked:?}");
}

#[test]
fn every_ftl_is_plain_bytes() {
    for ftl in ftls() {
        is_plain_bytes(ftl, &[], 400);
    }
}

#[test]
fn a_buffer_over_it_is_plain_bytes() {
    is_plain_bytes(
        "page",
        &["buffer=hybrid_lru", "buffer.hybrid_lru.dram=64KiB", "buffer.hybrid_lru.nvram=256KiB"],
        600,
    );
    is_plain_bytes("fast", &["buffer=bplru", "buffer.bplru.size=256KiB"], 600);
}

/// A disk that is dropped without a flush is a killed process.
#[test]
fn behind_capacitors_answered_writes_need_no_flush() {
    let capacitors = "device.controller={ write_buffer_bytes = 131072, write_buffer_protected = true }";
    let mut held = 0;
    for ftl in ftls() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("image");
        create(&path, ftl, &[capacitors]);
        let (disk, mut random) = (open(&path), Random::new(70));
        let mut plain = vec![0; 1 << 20];
        for number in 0..400 {
            let length = 512 << random.below(6);
            let offset = (random.below((plain.len() - length) as u64) / 512 * 512) as usize;
            plain[offset..offset + length].fill(number as u8 | 1);
            disk.write(offset as u64, &plain[offset..offset + length], false).unwrap();
            disk.hand_over().unwrap();
        }
        let (lasts, mut found) = (disk.writes_last(), vec![0; plain.len()]);
        drop(disk);
        open(&path).read(0, &mut found).unwrap();
        assert!(!lasts || found == plain, "{ftl} has lost a write");
        held += usize::from(!lasts && found != plain);
    }
    assert!(held > 0, "an FTL that gathers writes in memory loses some");
}

#[test]
fn a_trim_leaves_partial_sectors() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("image");
    create(&path, "page", &[]);
    let disk = open(&path);
    disk.write(0, &[7; 16_384], false).unwrap();
    disk.trim(100, 12_000, true).unwrap();
    let mut found = [0; 16_384];
    disk.read(0, &mut found).unwrap();
    assert!(found[..512].iter().all(|&byte| byte == 7), "the first sector is not wholly in it");
    assert!(found[4096..8192].iter().all(|&byte| byte == 0), "a whole page is");
    assert!(found[11_776..].iter().all(|&byte| byte == 7));
    disk.trim(5, 7, false).unwrap();
    for wrong in
        [disk.trim(disk.size(), 1, false), disk.read(u64::MAX, &mut [0]), disk.write(disk.size() - 1, &[0; 2], true)]
    {
        assert_eq!(wrong.unwrap_err().kind(), std::io::ErrorKind::InvalidInput);
    }
}

#[test]
fn counts_go_on_and_the_record_is_that_of_a_run() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("image");
    create(&path, "page", &[]);
    let mut programs = 0;
    for session in 1..=3 {
        let disk = open(&path);
        let journal = Region { sector: 64, sectors: 64, origin: Origin::JOURNAL };
        disk.set_regions(Regions::new(vec![journal]).unwrap());
        disk.write(60 * 512, &[1; 8 * 512], true).unwrap();
        disk.write(70 * 512, &[1; 8 * 512], true).unwrap();
        let stats = disk.stats();
        assert_eq!(stats["host"]["writes"], 3, "one of them is of two origins");
        assert_eq!(stats["host"]["written_sectors"], 16);
        assert_eq!(stats["in_all"]["sessions"], session);
        assert_eq!(stats["in_all"]["host"]["written_sectors"], 16 * session);
        assert!(stats["experiment"]["workload"].is_null() && stats["experiment"]["ftl"]["page"].is_object());
        let by = |origin: &str| stats["matrix"].as_array().unwrap().iter().any(|row| row["origin"] == origin);
        assert!(by("host") && by("journal"), "{}", stats["matrix"]);
        let now = disk.lifetime().flash().programs;
        assert!(now > programs);
        programs = now;
        // A mount is told apart: it is in no time.
        assert!(stats["mount"]["time_us"].as_f64().unwrap() > 0.0);
        let live = disk.live();
        assert_eq!(live.blocks.len(), stats["device"]["blocks"].as_u64().unwrap_or(live.blocks.len() as u64) as usize);
        disk.close().unwrap();
    }
}

#[test]
fn a_paced_answer_is_due_when_its_simulated_time_is_over() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("image");
    create(&path, "page", &["device.timing.program_us=20000"]);
    let disk = Disk::open(&path, Options { pace: true, ..Options::default() }).unwrap();
    let due: Vec<_> = (0..2).map(|page| disk.write(page * 4096, &[1; 4096], false).unwrap()).collect();
    // Each takes 20 ms, mostly still to come.
    assert!(due.iter().all(|due| due.wait() > Duration::ZERO), "{due:?}");
    let free = {
        drop(disk);
        open(&path)
    };
    assert_eq!(free.write(0, &[1; 4096], false).unwrap(), Due::NOW);
}

#[test]
fn a_trace_of_it_has_every_request() {
    let directory = tempfile::tempdir().unwrap();
    let (path, trace) = (directory.path().join("image"), directory.path().join("t.nltr"));
    create(&path, "page", &[]);
    let disk = open(&path);
    disk.record_to(&trace).unwrap();
    assert!(disk.record_to(&trace).unwrap_err().to_string().contains("being recorded already"));
    disk.write(0, &[1; 8192], true).unwrap();
    disk.read(0, &mut [0; 512]).unwrap();
    disk.trim(0, 4096, false).unwrap();
    assert_eq!(disk.end_record().unwrap(), Some(4));
    assert_eq!(disk.end_record().unwrap(), None);
    assert!(disk.record_to(&trace).is_err(), "a trace is not overwritten");
    let sets = [
        format!("workload.trace.path={}", trace.display()),
        "ftl=page".into(),
        "device.capacity=8MiB".into(),
        "device.over_provisioning=1".into(),
    ];
    let experiment = Experiment::parse("", Format::Toml, "", directory.path(), &sets).unwrap();
    let run = nandlab_lab::run(&experiment, directory.path(), &Default::default(), Default::default()).unwrap();
    assert_eq!((run.host.writes, run.host.flushes, run.host.reads, run.host.trims), (1, 1, 1, 1));
}

#[test]
fn a_process_that_serves_is_asked_by_its_socket() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("image");
    create(&path, "page", &[]);
    assert_eq!(ask(&path, "stats").unwrap(), None);
    let disk = Arc::new(open(&path));
    let control = Control::start(&path, Arc::clone(&disk)).unwrap();
    disk.write(0, &[1; 4096], true).unwrap();
    let answer = ask(&path, "stats").unwrap().unwrap();
    assert!(answer.contains("\"written_sectors\":8"), "{answer}");
    assert!(ask(&path, "nothing").unwrap().unwrap().contains("is no question"));
    drop(control);
    assert_eq!(ask(&path, "stats").unwrap(), None, "the socket goes with who answers it");
}

#[test]
fn what_cannot_be_served_is_refused_in_a_sentence() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("image");
    let opened = || Disk::open(&path, Options::default());
    assert!(sentence(opened()).starts_with("cannot open the image "));
    create(&path, "page", &[]);
    let first = open(&path);
    assert!(sentence(opened()).ends_with("is in use by another process: end that one first"));
    drop(first);

    let whole = fs::read(&path).unwrap();
    // The second header stands where the end of the file says.
    let second = u64::from_le_bytes(whole[whole.len() - 16..whole.len() - 8].try_into().unwrap()) as usize;
    for (place, value, what) in [(8, 2, "has format version 2, this program reads version 4"), (90, 1, "damaged")] {
        let mut spoilt = whole.clone();
        (spoilt[place], spoilt[second + place]) = (value, value);
        fs::write(&path, &spoilt).unwrap();
        let text = sentence(opened());
        assert!(text.contains(what), "{text}");
    }
    fs::write(&path, &whole[..whole.len() / 2]).unwrap();
    assert!(sentence(opened()).contains("bytes, the device in its header needs"));
    fs::write(&path, b"# a text").unwrap();
    assert!(sentence(opened()).contains("is not a nandlab image"));
}

/// Flipped bits in records and pages cost only their own data: no FTL falls over, and all readable data is as written.
#[test]
fn flipped_bits_do_not_cost_the_disk() {
    for ftl in ftls() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("image");
        create(&path, ftl, &[]);
        let disk = open(&path);
        let mut random = Random::new(5);
        for _ in 0..600 {
            let page = random.below(disk.size() / 4096 / 4);
            disk.write(page * 4096, &[page as u8; 4096], false).unwrap();
        }
        disk.close().unwrap();
        drop(disk);
        let whole = fs::read(&path).unwrap();
        let used: Vec<usize> = (0x80_000..whole.len()).filter(|&at| whole[at] != 0).collect();
        for round in 0..6 {
            let mut spoilt = whole.clone();
            spoilt[used[random.below(used.len() as u64) as usize]] ^= 1 << random.below(8);
            fs::write(&path, &spoilt).unwrap();
            let disk = match Disk::open(&path, Options::default()) {
                Ok(disk) => disk,
                // An FTL that cannot do without the spoilt part reports it in one sentence.
                Err(error) => {
                    assert!(!error.to_string().contains('\n'), "{ftl}, round {round}: {error}");
                    continue;
                }
            };
            let mut lost = 0;
            for page in 0..disk.size() / 4096 / 4 {
                let mut found = [0; 4096];
                match disk.read(page * 4096, &mut found) {
                    Ok(_) => lost += u64::from(found != [page as u8; 4096] && found != [0; 4096]),
                    Err(_) => lost += 1,
                }
            }
            assert!(lost <= 16 * 8, "{ftl}, round {round}: {lost} pages for one bit");
        }
    }
}

#[test]
fn the_erase_of_a_block_that_looks_erased_has_a_cause_of_its_own() {
    let directory = tempfile::tempdir().unwrap();
    for ftl in ftls() {
        let image = directory.path().join(ftl);
        create(&image, ftl, &[]);
        let disk = open(&image);
        disk.write(0, &[1; 64 << 10], false).unwrap();
        disk.close().unwrap();
        drop(disk);
        // More than the blocks being filled take, and far from a full device.
        let disk = open(&image);
        disk.write(1 << 20, &vec![2; 1 << 20], false).unwrap();
        let stats = disk.stats();
        let rows = stats["matrix"].as_array().unwrap();
        let erases = |cause: &str| -> f64 {
            rows.iter().filter(|row| row["cause"] == cause).map(|row| row["erases"].as_f64().unwrap()).sum()
        };
        assert!(erases("reerase") > 0.0, "{ftl}: {rows:?}");
        assert!(erases("gc") + erases("mount") < 1.0, "{ftl}: nothing was collected: {rows:?}");
    }
}
