//! File workloads: well-formed over random options, with their sources' counts and bytes.

mod plain;

use nandlab_nand::random::Random;
use nandlab_workload::files::{camera, directories, event_recorder, fax, large_files, phone, postmark, trace};
use nandlab_workload::files::{FileOp, FileSetting};
use nandlab_workload::{Asks, ByteCount, FileOptions, LIST};
use plain::Plain;
use std::collections::BTreeSet;
use std::path::Path;

fn stream(options: &dyn FileOptions, seed: u64) -> Vec<FileOp> {
    options.open(&FileSetting { seed, base: Path::new(".") }).unwrap().collect::<Result<_, _>>().unwrap()
}

/// Options drawn at random.
struct Draw(Random);

impl Draw {
    fn up_to(&mut self, most: u64) -> u32 {
        self.0.below(most + 1) as u32
    }

    fn at_least_1(&mut self, most: u64) -> u32 {
        1 + self.0.below(most) as u32
    }

    fn bytes(&mut self, most: u64) -> ByteCount {
        ByteCount(self.at_least_1(most).into())
    }

    fn is(&mut self) -> bool {
        self.0.chance(0.5)
    }

    /// Ascending lengths.
    fn lengths(&mut self) -> (u32, u32) {
        let shortest = self.at_least_1(50);
        (shortest, shortest + self.up_to(50))
    }

    fn postmark(&mut self) -> postmark::Config {
        let size_low = self.bytes(20_000);
        postmark::Config {
            size_low,
            size_high: ByteCount(size_low.0 + u64::from(self.up_to(50_000))),
            // Enough files, so not all are deleted.
            number: 41 + self.up_to(60),
            transactions: self.at_least_1(40),
            seed: self.at_least_1(1 << 30),
            subdirectories: self.up_to(5),
            read_block: self.bytes(10_000),
            write_block: self.bytes(10_000),
            bias_read: self.up_to(11) as i32 - 1,
            bias_create: self.up_to(11) as i32 - 1,
            buffered: self.is(),
        }
    }

    fn directories(&mut self) -> directories::Config {
        directories::Config {
            transactions: self.up_to(40),
            files: self.up_to(9),
            file_bytes: ByteCount(self.up_to(9_000).into()),
            write_bytes: self.bytes(5_000),
        }
    }

    fn large_files(&mut self) -> large_files::Config {
        large_files::Config {
            transactions: self.up_to(40),
            file_bytes: ByteCount(self.up_to(200_000).into()),
            write_bytes: self.bytes(5_000),
        }
    }

    fn phone(&mut self) -> phone::Config {
        let (shortest_entry, longest_entry) = self.lengths();
        let appointments_a_day = self.up_to(6);
        phone::Config {
            transactions: self.up_to(40),
            call_records: self.at_least_1(30),
            call_bytes: self.at_least_1(30),
            received: self.up_to(5),
            dialled: self.up_to(5),
            missed: self.up_to(5),
            sms_received: self.up_to(5),
            sms_sent: self.up_to(5),
            sms_bytes: self.at_least_1(600),
            shuffled: self.is(),
            organizer: self.is(),
            appointments: appointments_a_day + self.up_to(20),
            appointments_a_day,
            addresses: self.up_to(20),
            shortest_entry,
            longest_entry,
        }
    }

    fn fax(&mut self) -> fax::Config {
        let (shortest_parameter, longest_parameter) = self.lengths();
        fax::Config {
            transactions: self.up_to(40),
            pages: self.at_least_1(5),
            page_bytes: ByteCount(self.up_to(20_000).into()),
            write_bytes: self.bytes(5_000),
            backlog: self.up_to(50),
            read_on_delivery: self.is(),
            history: self.at_least_1(30),
            history_bytes: self.at_least_1(100),
            phone_book: self.up_to(20),
            phone_bytes: self.at_least_1(100),
            parameters: self.up_to(20),
            shortest_parameter,
            longest_parameter,
        }
    }

    fn event_recorder(&mut self) -> event_recorder::Config {
        let (shortest_parameter, longest_parameter) = self.lengths();
        event_recorder::Config {
            transactions: self.up_to(40),
            events: self.up_to(20),
            event_bytes: self.at_least_1(100),
            records: self.at_least_1(100),
            second_every: self.at_least_1(20),
            second_records: self.at_least_1(30),
            parameters: self.at_least_1(30),
            shortest_parameter,
            longest_parameter,
        }
    }

    fn camera(&mut self) -> camera::Config {
        let shortest_photo = self.bytes(20_000);
        camera::Config {
            transactions: self.up_to(10),
            shots: self.up_to(20),
            shortest_photo,
            longest_photo: ByteCount(shortest_photo.0 + u64::from(self.up_to(20_000))),
            write_bytes: self.bytes(5_000),
            review: self.is(),
            deleted_share: f64::from(self.up_to(4)) / 4.0,
            sessions_to_copy: self.at_least_1(5),
        }
    }

    fn options(&mut self) -> Vec<Box<dyn FileOptions>> {
        vec![
            Box::new(self.postmark()),
            Box::new(self.directories()),
            Box::new(self.large_files()),
            Box::new(self.phone()),
            Box::new(self.fax()),
            Box::new(self.event_recorder()),
            Box::new(self.camera()),
        ]
    }
}

#[test]
fn every_stream_is_well_formed() {
    let mut draw = Draw(Random::new(11));
    for round in 0..150 {
        for options in draw.options() {
            options.check().unwrap();
            let ops = stream(&*options, round);
            let plain = Plain::of(&ops);
            assert_eq!(Some(plain.transactions), options.transactions());
            // A camera leaves its folders.
            assert!(plain.directories.iter().all(|path| path.starts_with("DCIM")), "directories are left");
            if plain.cleaning {
                assert!(plain.files.is_empty(), "files are left after the clean-up");
            }
            assert_eq!(ops, stream(&*options, round), "the same seed makes another stream");
        }
    }
    // A trace has no seed, and tests of its own.
    let files = LIST.iter().filter(|entry| entry.asks == Asks::Files && entry.name != "files").count();
    assert_eq!(draw.options().len(), files, "a workload of the list is not tested here");
}

#[test]
fn the_seed_of_the_experiment_is_used() {
    let organizer = phone::Config { organizer: true, shuffled: false, ..Default::default() };
    let all: [Box<dyn FileOptions>; 5] = [
        Box::new(phone::Config::default()),
        Box::new(organizer),
        Box::new(fax::Config::default()),
        Box::new(event_recorder::Config::default()),
        Box::new(camera::Config { transactions: 1, ..Default::default() }),
    ];
    for options in all {
        assert_ne!(stream(&*options, 1), stream(&*options, 2));
    }
}

#[test]
fn directories_hold_fifty_small_files() {
    let ops = stream(&directories::Config { transactions: 3, ..Default::default() }, 1);
    // A transaction: its mark, mkdir, 50 x (create, write, close), 50 deletions, rmdir.
    assert_eq!(ops.len(), 3 * (1 + 1 + 50 * 3 + 50 + 1));
    let plain = Plain::of(&ops);
    assert_eq!((plain.count("create"), plain.count("write"), plain.count("unlink")), (150, 150, 150));
    assert_eq!((plain.count("mkdir"), plain.most_files, plain.written), (3, 50, [150 * 512, 0]));
    assert!(plain.files.is_empty());
}

/// A file trace's operations, up to the first error.
fn traced(name: &str, text: &str) -> Vec<Result<FileOp, String>> {
    let file = std::env::temp_dir().join(format!("nandlab-files-{}-{name}", std::process::id()));
    std::fs::write(&file, text).unwrap();
    let options = trace::Config { path: file.display().to_string() };
    let ops = options.open(&FileSetting { seed: 1, base: Path::new("") }).unwrap();
    let told = |error: nandlab_workload::WorkloadError| error.to_string().replace(&options.path, "trace");
    let ops = ops.map(|op| op.map_err(told)).collect();
    std::fs::remove_file(&file).unwrap();
    ops
}

#[test]
fn a_file_trace_is_played_line_by_line() {
    let text = "mkdir,d\ncreate,d/a\ncreate,b\nwrite,b,0,100\r\ntransaction\nclose,d/a\nopen,c\nread,c,5,7\n\
                truncate,b,9\nsync,b\nclose,b\nrename,b,d/a\nremove,d/a\nrmdir,d\n";
    let path = |path: &str| path.into();
    let expected = [
        FileOp::Mkdir(path("d")),
        FileOp::Create { file: 0, path: path("d/a") },
        FileOp::Create { file: 1, path: path("b") },
        FileOp::Write { file: 1, at: 0, bytes: 100 },
        FileOp::Transaction,
        FileOp::Close(0),
        FileOp::Open { file: 0, path: path("c") },
        FileOp::Read { file: 0, at: 5, bytes: 7 },
        FileOp::Truncate { file: 1, bytes: 9 },
        FileOp::Sync(1),
        FileOp::Close(1),
        FileOp::Rename { from: path("b"), to: path("d/a") },
        FileOp::Unlink(path("d/a")),
        FileOp::Rmdir(path("d")),
    ];
    assert_eq!(traced("played", text), expected.map(Ok));
}

#[test]
fn a_malformed_line_ends_a_file_trace() {
    for (text, sentence) in [
        ("write,a,0,1", "trace, line 1, column 1: expected an open file, and 'a' is closed, found 'write,a,0,1'"),
        ("create,a\nremove,a", "line 2, column 1: expected a closed file, and 'a' is open"),
        ("create,a\nread,a,0,-1", "line 2, column 1: expected a whole number in place of '-1'"),
        ("mkdir,a,b", "expected transaction, or one of create"),
    ] {
        let ops = traced("malformed", &format!("{text}\ntransaction\n"));
        let error = ops.last().unwrap().as_ref().unwrap_err();
        assert!(error.contains(sentence), "{error}");
        assert_eq!(ops.len(), text.lines().count(), "nothing comes after the error");
    }
}

#[test]
fn large_files_are_written_cluster_by_cluster() {
    let ops = stream(&large_files::Config { transactions: 3, ..Default::default() }, 1);
    // A transaction: its mark, create, 1 MiB / 4 KiB = 256 writes, close, deletion.
    assert_eq!(ops.len(), 3 * (1 + 1 + 256 + 1 + 1));
    let plain = Plain::of(&ops);
    assert_eq!((plain.most_files, plain.written), (1, [3 << 20, 0]));
    assert!(plain.files.is_empty());
}

#[test]
fn a_day_of_the_phone_is_31_records() {
    let days = 100;
    let ops = stream(&phone::Config { transactions: days, ..Default::default() }, 1);
    let plain = Plain::of(&ops);
    // 10 + 10 + 5 calls and 3 + 3 messages, each opened, written and closed.
    for kind in ["open", "write", "close"] {
        assert_eq!(plain.count(kind), 31 * u64::from(days), "{kind}");
    }
    // Before: three lists of 20 x 15 bytes. Then a day writes 25 x 15 + 6 x 512 bytes.
    assert_eq!(plain.written, [u64::from(days) * (25 * 15 + 6 * 512), 3 * 300]);
    let sizes: Vec<_> = plain.files.iter().map(|(path, bytes)| (path.as_str(), *bytes)).collect();
    let messages = 3 * 512 * u64::from(days);
    assert_eq!(
        sizes,
        [("DIALLED", 300), ("MISSED", 300), ("RECEIVED", 300), ("SMSIN", messages), ("SMSOUT", messages)]
    );
}

#[test]
fn the_organizer_adds_ten_operations_a_day() {
    let days = 40;
    let ops = stream(&phone::Config { transactions: days, organizer: true, ..Default::default() }, 1);
    let plain = Plain::of(&ops);
    assert_eq!(plain.count("write"), 41 * u64::from(days));
    assert_eq!((plain.files["AGENDA"], plain.files["ADDRESS"]), (155 * 64, 50 * 64));
    // An appointment is deleted once, 5 a day, the oldest first: places 0, 64, 128 ... of 155.
    let deleted: Vec<u64> = ops
        .windows(2)
        .filter(|pair| matches!(&pair[0], FileOp::Open { path, .. } if &**path == "AGENDA"))
        .filter_map(|pair| match pair[1] {
            FileOp::Write { at, bytes: 1, .. } => Some(at),
            _ => None,
        })
        .collect();
    assert_eq!(deleted, (0..5 * u64::from(days)).map(|n| n % 155 * 64).collect::<Vec<_>>());
}

#[test]
fn the_order_of_a_day_is_drawn() {
    let first = |shuffled| {
        let ops = stream(&phone::Config { transactions: 2, shuffled, ..Default::default() }, 1);
        let paths = |ops: &[FileOp]| -> Vec<Box<str>> {
            ops.iter()
                .filter_map(|op| if let FileOp::Open { path, .. } = op { Some(path.clone()) } else { None })
                .collect()
        };
        let days: Vec<_> = ops.split(|op| *op == FileOp::Transaction).skip(1).map(paths).collect();
        days
    };
    let sorted = first(false);
    assert_eq!(sorted[0], sorted[1]);
    let mut drawn = first(true);
    assert_ne!(drawn[0], drawn[1]);
    // The same operations all the same.
    for day in &mut drawn {
        day.sort();
    }
    let mut day = sorted[0].clone();
    day.sort();
    assert_eq!(drawn, [day.clone(), day]);
}

#[test]
fn faxes_arrive_wait_and_go() {
    let faxes = 20;
    let ops = stream(&fax::Config { transactions: faxes, ..Default::default() }, 1);
    let plain = Plain::of(&ops);
    let faxes = u64::from(faxes);
    // 51,300 bytes are 50 pieces of 1,024 and one of 100. From the ninth fax on, one goes for each that comes.
    assert_eq!(plain.count("create"), 4 * faxes);
    assert_eq!(plain.count("write"), 4 * 51 * faxes + faxes + (faxes - 8));
    assert_eq!((plain.count("unlink"), plain.count("read")), (4 * (faxes - 8), 0));
    // For a moment nine faxes are there, beside parameters, phone book and two histories.
    assert_eq!((plain.most_files, plain.files.len()), (4 * 9 + 4, 4 * 8 + 4));
    assert_eq!((plain.files["PHONES"], plain.files["RECEIVED"], plain.files["SENT"]), (1_600, 6_400, 6_400));
    assert!((30 * 4..=30 * 32).contains(&plain.files["PARAM"]));
    assert_eq!(plain.written[0], 4 * 51_300 * faxes + 32 * (2 * faxes - 8));
    assert!(plain.files.contains_key("F13P1") && !plain.files.contains_key("F12P4"));
}

#[test]
fn a_fax_may_be_read_before_it_goes() {
    let ops = stream(&fax::Config { transactions: 9, read_on_delivery: true, ..Default::default() }, 1);
    assert_eq!(Plain::of(&ops).count("read"), 4 * 51);
}

#[test]
fn events_are_logged_and_go_round() {
    let rounds = 500;
    let ops = stream(&event_recorder::Config { transactions: rounds, ..Default::default() }, 1);
    let plain = Plain::of(&ops);
    // 10 events, one of them in the second file, and a configuration record.
    assert_eq!((plain.count("open"), plain.count("write"), plain.count("create")), (6_000, 6_000, 0));
    // 5,000 events fill 4,096 places; 500 of 1,024 are used in the second file; 30 places of 32 bytes.
    assert_eq!(
        (plain.files["EVENTS"], plain.files["SELECTED"], plain.files["CONFIG"]),
        (4_096 * 32, 500 * 32, 30 * 32)
    );
    let mut lengths = BTreeSet::new();
    for pair in ops.windows(2) {
        if let (FileOp::Open { path, .. }, FileOp::Write { at, bytes, .. }) = (&pair[0], &pair[1]) {
            if &**path == "CONFIG" {
                assert_eq!(at % 32, 0);
                lengths.insert(*bytes);
            }
        }
    }
    // Each of 29 lengths is missing with probability (28 / 29)^500 = 2e-8.
    assert_eq!(lengths, (4..=32).collect());
}

#[test]
fn a_camera_fills_its_card_and_is_copied() {
    let options = camera::Config { transactions: 5, ..Default::default() };
    let ops = stream(&options, 1);
    let plain = Plain::of(&ops);
    // Sessions 2 and 4 end in a copy: what is left are photographs of session 5.
    assert_eq!(plain.count("create"), 150);
    assert_eq!(plain.count("unlink") + plain.files.len() as u64, 150);
    assert!(plain.files.keys().all(|path| ("DCIM/100CAM/DSCN0121"..="DCIM/100CAM/DSCN0150").contains(&path.as_str())));
    // Each of 30 stays with probability 0.8: 24, standard deviation 2.2.
    assert!((13..=30).contains(&plain.files.len()), "{}", plain.files.len());
    // Each photograph is read once in its session, and those of the first four that stayed once more.
    let reads = plain.count("open");
    assert!((150 + 70..=150 + 120).contains(&reads), "{reads}");
    // The mean of 600 to 1,200 KiB is 900; of 150, with a standard deviation of 14.
    let mean = plain.written[0] as f64 / 150.0 / 1024.0;
    assert!((mean - 900.0).abs() < 70.0, "{mean}");
    assert_eq!(plain.directories.iter().collect::<Vec<_>>(), ["DCIM", "DCIM/100CAM"]);
}

#[test]
fn a_camera_begins_a_folder_after_9999_photographs_and_drops_old_ones() {
    let small = ByteCount(1);
    let options = camera::Config {
        transactions: 2,
        shots: 10_001,
        shortest_photo: small,
        longest_photo: small,
        review: false,
        deleted_share: 0.0,
        sessions_to_copy: 2,
        ..Default::default()
    };
    let plain = Plain::of(&stream(&options, 1));
    assert_eq!((plain.count("mkdir"), plain.count("rmdir"), plain.most_files), (3, 2, 20_002));
    assert_eq!(plain.directories.iter().collect::<Vec<_>>(), ["DCIM", "DCIM/102CAM"]);
    assert!(plain.files.is_empty());
}

#[test]
fn options_out_of_range_are_refused_with_their_key() {
    let bytes = ByteCount;
    let refused: Vec<(Box<dyn FileOptions>, &str)> = vec![
        (Box::new(directories::Config { write_bytes: bytes(0), ..Default::default() }), "write_bytes = 0"),
        (Box::new(directories::Config { file_bytes: bytes(1 << 40), ..Default::default() }), "file_bytes = "),
        (Box::new(large_files::Config { write_bytes: bytes(0), ..Default::default() }), "write_bytes = 0"),
        (Box::new(large_files::Config { file_bytes: bytes(1 << 50), ..Default::default() }), "file_bytes = "),
        (Box::new(phone::Config { call_records: 0, ..Default::default() }), "call_records = 0"),
        (Box::new(phone::Config { received: 2_000_000, ..Default::default() }), "received = 2000000"),
        (Box::new(phone::Config { organizer: true, appointments: 4, ..Default::default() }), "appointments = 4"),
        (Box::new(phone::Config { shortest_entry: 65, ..Default::default() }), "shortest_entry = 65"),
        (Box::new(fax::Config { pages: 0, ..Default::default() }), "pages = 0"),
        (Box::new(fax::Config { history: 0, ..Default::default() }), "history = 0"),
        (Box::new(fax::Config { longest_parameter: 0, ..Default::default() }), "longest_parameter = 0"),
        (Box::new(event_recorder::Config { parameters: 0, ..Default::default() }), "parameters = 0"),
        (Box::new(camera::Config { shortest_photo: bytes(2 << 20), ..Default::default() }), "shortest_photo = "),
        (Box::new(camera::Config { deleted_share: 1.5, ..Default::default() }), "deleted_share = 1.5"),
        (Box::new(camera::Config { sessions_to_copy: 0, ..Default::default() }), "sessions_to_copy = 0"),
        (Box::new(event_recorder::Config { second_every: 0, ..Default::default() }), "second_every = 0"),
    ];
    for (options, says) in refused {
        let error = options.check().unwrap_err().to_string();
        assert!(error.starts_with(says), "{error}");
        assert!(options.open(&FileSetting { seed: 1, base: Path::new(".") }).is_err());
    }
}
