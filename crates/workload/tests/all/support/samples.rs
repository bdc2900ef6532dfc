//! The hand-made samples: how each is read, what is in it, and lines that its format does not allow.

use nandlab_workload::trace::{Column, ColumnOptions, Config, DeviceColumns, FormatName, Separator, TimeUnit, FORMATS};

/// Time in nanoseconds, operation, sector, sectors, device.
pub type Row = (u64, char, u64, u32, String);

/// A row.
pub fn row(time: u64, op: char, sector: u64, sectors: u32, device: &str) -> Row {
    (time, op, sector, sectors, device.to_owned())
}

/// The columns of the sample `columns`.
pub fn columns() -> ColumnOptions {
    let name = |name: &str| Column::Name(name.to_owned());
    let words = |word: &str| vec![word.to_owned()];
    ColumnOptions {
        time: Some(name("when")),
        op: name("kind"),
        address: name("lba"),
        size: Some(name("blocks")),
        fixed_size_bytes: None,
        skip_lines: 0,
        device: Some(DeviceColumns::One(name("disk"))),
        placement: None,
        separator: Separator::Semicolon,
        header: false,
        address_unit_bytes: 4096,
        size_unit_bytes: 4096,
        read: words("read"),
        write: words("write"),
        trim: words("trim"),
        flush: words("sync"),
    }
}

/// How a sample is read, and what is in it.
pub struct Sample {
    pub name: &'static str,
    pub config: Config,
    pub rows: Vec<Row>,
    /// A line or record that the format does not allow, and what its message says.
    pub bad: &'static [(&'static str, &'static str)],
}

fn sample(name: &'static str, rows: Vec<Row>, bad: &'static [(&'static str, &'static str)]) -> Sample {
    let mut config = Config::new(name);
    if let Some(entry) = FORMATS.iter().find(|entry| entry.name == name) {
        config.format = entry.format;
    }
    Sample { name, config, rows, bad }
}

const BOOT: u64 = 1_398_406_382_000_000_000;

/// Ticks of the MSR sample since 1970, in nanoseconds.
const HM: u64 = (128_166_372_003_061_629 - 116_444_736_000_000_000) * 100;

fn own_and_logs() -> Vec<Sample> {
    vec![
        sample(
            "csv",
            vec![
                row(0, 'W', 4096, 8, "a"),
                row(10_500, 'R', 0, 16, "a"),
                row(20_000, 'T', 8, 128, "b"),
                row(30_000, 'F', 0, 0, "a"),
            ],
            &[
                ("-1,W,0,8,wal,a", "not negative"),
                ("40,W,0,0,wal,a", "at least 1"),
                ("40,W,0,137438953473,wal,a", "at most 137438953472"),
                ("1,W,0,8,wal,a", "time goes back from 30 to 1 us"),
            ],
        ),
        sample(
            "spc",
            vec![
                row(551_706_000, 'W', 20_941_264, 16, "0"),
                row(554_041_000, 'W', 20_939_840, 16, "1"),
                row(600_000_000, 'R', 303_567, 7, "0"),
                row(1_500_000_000, 'R', 8, 1, "1"),
            ],
            &[
                ("0,1,512,r,-2.0", "a number of seconds that is not negative"),
                ("0,1,0,r,2.0", "at least 1, found 0"),
                ("0,1,99999999999999999999,r,2.0", "at most"),
                ("0,1,512,x,2.0", "R (read) or W (write)"),
                ("0,1,512", "`,` and then opcode, found the end of the line"),
            ],
        ),
        sample(
            "msr",
            vec![
                row(HM, 'R', 749_016, 64, "hm,1"),
                row(HM + 1_332_052_600, 'W', 5_512, 8, "hm,1"),
                row(HM + 1_332_052_600, 'R', 1, 2, "hm,1"),
            ],
            &[
                ("-5,hm,1,Read,0,512,1", "timestamp, a whole number of 100 ns"),
                ("128166372016382155,hm,1,Read,0,0,1", "at least 1"),
                ("128166372016382155,hm,1,Read,0,18446744073709551615,1", "at most"),
                ("128166372016382155,hm,1,Seek,0,512,1", "type, Read or Write, found `Seek,0,512,1`"),
            ],
        ),
        sample(
            "fio",
            vec![
                row(5_000, 'W', 8, 16, "/dev/sda"),
                row(12_000, 'R', 0, 1, "/dev/sda"),
                row(20_000, 'F', 0, 0, "/dev/sda"),
                row(30_000, 'T', 128, 128, "/dev/sda"),
            ],
            &[
                ("-1 /dev/sda read 0 512", "not negative"),
                ("50 /dev/sda read 0 0", "at least 1"),
                ("50 /dev/sda read 0 18446744073709551615", "at most"),
                ("50 /dev/sda seek 0 512", "action, one of add"),
                ("50 /dev/sda wait 5 0", "no action `wait`"),
            ],
        ),
    ]
}

fn block_traces() -> Vec<Sample> {
    vec![
        sample(
            "fiu",
            vec![row(8_999_250, 'W', 508_516_672, 8, "6 0"), row(8_999_300, 'R', 519_854_376, 16, "6 0")],
            &[
                ("-1 1 a 8 8 W 6 0 88b93b628d84082186026d9da044f173", "not negative"),
                ("9999300 1 a 8 0 W 6 0 88b93b628d84082186026d9da044f173", "at least 1"),
                ("9999300 1 a 8 8 W 6 0 88b93b", "MD5, 32 hexadecimal digits"),
                ("9999300 1 a 8888888888888888888 8 W 6 0 88b93b628d84082186026d9da044f173", "at most"),
            ],
        ),
        sample(
            "blkparse",
            vec![
                row(1_795_683, 'R', 4_938_888, 256, "8,16"),
                row(1_795_683, 'W', 2048, 8, "8,16"),
                row(2_000_000, 'F', 0, 0, "8,16"),
                row(2_100_000, 'T', 4096, 2048, "8,16"),
                row(2_200_000, 'F', 0, 0, "8,16"),
                row(2_200_000, 'W', 64, 8, "8,16"),
            ],
            &[
                ("8,16 1 1 -1.0 1 C R 8 + 8 [0]", "not negative"),
                ("8,16 1 1 1.0 1 C R 8 + 0 [0]", "at least 1"),
                ("8,16 1 1 1.0 1 C R 8 + 999999999999 [0]", "at most"),
                ("8,16 1 1 1.0 1 123 R 8 + 8 [0]", "action, a letter"),
            ],
        ),
        sample(
            "ftrace",
            vec![
                row(12_500_000_000, 'W', 1000, 8, "259,0"),
                row(12_500_400_000, 'R', 64, 16, "259,0"),
                row(12_501_000_000, 'F', 0, 0, "259,0"),
            ],
            &[
                ("a-1 [000] 13.5: block_rq_issue: 259,0 W 4096 () 8 + 0 [a]", "at least 1"),
                ("a-1 [000] 13.5: block_rq_issue: 259,0 W 4096 () 8 + 999999999999 [a]", "at most"),
                ("a-1 [000] 13.5: block_rq_issue: 259,0 W 4096 [a]", "sector + sectors"),
                ("a-1 [000] 13.5 block_rq_issue", "seconds and the name of an event"),
            ],
        ),
        sample(
            "qemu",
            vec![
                row(1_700_000_000_250_000_000, 'R', 2, 1, "0x55d0c0a3"),
                row(1_700_000_000_500_000_000, 'W', 8, 16, "0x55d0c0a3"),
            ],
            &[
                ("7@1700000001.0:blk_co_preadv blk 0x1 bs 0x2 offset 0 bytes 0 flags 0x0", "at least 1"),
                ("7@-1:blk_co_preadv blk 0x1 bs 0x2 offset 0 bytes 512 flags 0x0", "not negative"),
                ("blk_co_preadv blk 0x1 offset 0 bytes 512 flags 0x0", "the word `bs`"),
            ],
        ),
        sample(
            "wiscsee",
            vec![row(0, 'R', 584, 8, ""), row(196_695, 'W', 648, 16, ""), row(400_000_000, 'T', 0, 2048, "")],
            &[("1 D read 0 512 -0.5 0 False", "not negative"), ("1 D read 0 0 0.5 0 False", "at least 1")],
        ),
    ]
}

fn simulators() -> Vec<Sample> {
    vec![
        sample(
            "mqsim",
            vec![row(938_513_000, 'W', 264_719_034, 16, "4"), row(938_828_000, 'R', 197_570_570, 8, "4")],
            &[
                ("-5 0 8 8 1", "not negative"),
                ("939000000 0 8 0 1", "at least 1"),
                ("939000000 0 8 999999999999 1", "at most"),
                ("939000000 0 8 8 2", "0 (write) or 1 (read)"),
                ("939000000.5 0 8 8 1", "time, a whole number"),
                ("5 0 8 8 1", "time goes back"),
            ],
        ),
        sample(
            "ssdsim",
            vec![row(0, 'W', 303_567, 7, "0"), row(26_214_000, 'R', 303_574, 7, "0")],
            &[("-5 0 8 8 1", "not negative"), ("99999999 0 8 0 1", "at least 1"), ("5 0 8 8 1", "time goes back")],
        ),
        sample(
            "disksim",
            vec![row(5_265_313_000, 'W', 6_357_144, 8, "0"), row(5_297_450_000, 'R', 33_701_824, 64, "0")],
            &[("-5.0 0 8 8 1", "not negative"), ("9999.5 0 8 0 1", "at least 1"), ("5.5 0 8 8 1", "time goes back")],
        ),
        sample(
            "flashsim",
            vec![
                row(640_875_000, 'R', 522_424, 128, "0"),
                row(640_875_000, 'R', 522_552, 64, "0"),
                row(641_500_000, 'R', 522_616, 8, "0"),
                row(700_000_000, 'R', 522_624, 16, "0"),
                row(844_000_000, 'W', 6_342_217, 8, "0"),
            ],
            &[
                ("-5.0 0 8 8 1", "not negative"),
                ("9999.5 0 8 0 1", "at least 1"),
                ("5.5 0 8 999999999999 1", "at most"),
            ],
        ),
    ]
}

fn phones() -> Vec<Sample> {
    vec![
        sample(
            "biotracer",
            vec![
                row(BOOT + 756_832_267, 'W', 4_220_896, 8, ""),
                row(BOOT + 756_832_267, 'W', 49_592_392, 16, ""),
                row(BOOT + 1_500_000_000, 'R', 61_071_352, 9, ""),
            ],
            &[
                ("8\t8\t4096\t4\t-1.0\t1.0\t1.0\t1.0", "not negative"),
                ("8\t0\t0\t4\t1398406389.0\t1.0\t1.0\t1.0", "at least 1"),
                ("8\t8\t4095\t4\t1398406389.0\t1.0\t1.0\t1.0", "bytes, here 4096 as there are 8 sectors"),
                ("8\t8\t4096\t4\t99999999999.0\t1.0\t1.0\t1.0", "292 years"),
            ],
        ),
        sample(
            "pixel",
            vec![
                row(159_273_751_646_000, 'R', 29_880_920, 16, "8388608"),
                row(159_273_837_487_000, 'W', 30_175_712, 8, "8388608"),
            ],
            &[
                ("a,1,R,8,8,-5", "not negative"),
                ("a,1,R,8,0,159274", "at least 1"),
                ("a,1,R,8,99999999999999999,159274", "at most"),
                ("a,1,R,8,8", "six columns"),
            ],
        ),
        sample(
            "vscsi",
            vec![
                row(1_000_000, 'W', 42_932_745, 1, ""),
                row(2_000_000, 'R', 7, 13, ""),
                row(2_500_000, 'F', 0, 0, ""),
                row(2_500_000, 'W', 1 << 33, 8, ""),
            ],
            &[],
        ),
        sample("vscsi2", vec![row(1_000_000, 'W', 42_932_745, 1, ""), row(2_000_000, 'R', 7, 13, "")], &[]),
    ]
}

fn clouds() -> Vec<Sample> {
    vec![
        sample(
            "alibaba",
            vec![
                row(1_577_808_000_000_626_000, 'W', 17_173_304, 32, "419"),
                row(1_577_808_000_000_700_000, 'R', 8, 1, "419"),
            ],
            &[
                ("419,W,0,512,-7", "not negative"),
                ("419,W,0,0,1577808000000800", "at least 1"),
                ("419,W,0,9999999999999999,1577808000000800", "at most"),
            ],
        ),
        sample(
            "tencent",
            vec![
                row(1_538_323_200_000_000_000, 'R', 12_910_952, 128, "1063"),
                row(1_538_323_200_000_000_000, 'W', 6_338_688, 8, "1063"),
                row(1_538_323_201_000_000_000, 'R', 8, 1, "1063"),
            ],
            &[
                ("-7,8,8,0,1063", "not negative"),
                ("1538323202,8,0,0,1063", "at least 1"),
                ("1538323202,8,8,2,1063", "0 (read) or 1 (write)"),
                ("1538323202,9999999999999999999,8,0,1063", "at most"),
            ],
        ),
    ]
}

fn etw() -> Sample {
    sample(
        "etw",
        vec![row(2_000_000, 'R', 4096, 8, "0"), row(3_000_000, 'W', 8, 1, "0"), row(4_000_000, 'F', 0, 0, "0")],
        &[
            ("DiskRead, 5000, a.exe (1), 12, 0x1, 0x0000, 0x00000000, 10, 0, 0x1, 10", "at least 1"),
            ("DiskRead, -5000, a.exe (1), 12, 0x1, 0x0000, 0x00000200, 10, 0, 0x1, 10", "not negative"),
            ("DiskWrite, 5000, a.exe (1), 12, 0x1, 0x0000, some, 10, 0, 0x1, 10", "IOSize, a whole number"),
            ("DiskFlush, 5000, a.exe (1), 12", "ElapsedTime"),
        ],
    )
}

/// 31 May 2026, 12:30, as `date --utc +%s` has it.
const NOON: u64 = 1_780_230_600_000_000_000;

fn nbdkit() -> Sample {
    let at = |us: u64| NOON + us * 1000;
    sample(
        "nbdkit",
        vec![
            row(at(122_000), 'W', 8, 16, ""),
            row(at(123_000), 'W', 128, 8, ""),
            row(at(123_100), 'T', 128, 8, ""),
            row(at(124_000), 'T', 0, 8, ""),
            row(at(125_000), 'R', 1, 1, ""),
            row(at(126_000), 'F', 0, 0, ""),
            row(at(127_000), 'W', 32, 8, ""),
            row(at(127_000), 'F', 0, 0, ""),
        ],
        &[
            ("2026-05-31 12:30:01 connection=1 Write id=9 offset=0x0 count=0x0 fua=0 ...", "at least 1"),
            ("2026-05-31 12:30:01 connection=1 Write id=9 offset=0x0 ...", "`count=` and a number of bytes"),
            ("2026-05-31 12:30:01 connection=1 Read id=9 offset=here count=0x200 ...", "a whole number, found `here"),
            ("2026-05-31 12:30:01 Reading the news", "an event such as Read"),
            ("12.5 connection=1 Flush id=9 ...", "a date and time"),
        ],
    )
}

fn in_columns() -> Sample {
    let mut columns_sample = sample(
        "columns",
        vec![row(500_000_000, 'W', 80, 16, "x"), row(750_000_000, 'R', 0, 8, "x"), row(1_000_000_000, 'F', 0, 0, "x")],
        &[
            ("-1;read;0;1;x", "not negative"),
            ("0;read;0;0;x", "at least 1"),
            ("0;read;0;9999999999999999;x", "at most"),
            ("0;what;0;1;x", "an operation"),
            ("0;read;0", "a size, a whole number"),
        ],
    );
    columns_sample.config.columns = Some(Box::new(columns()));
    columns_sample.config.time_unit = Some(TimeUnit::S);
    columns_sample
}

fn fio2() -> Sample {
    let mut fio2 = sample(
        "fio2",
        vec![row(0, 'W', 8, 16, "/dev/sda"), row(250_000, 'R', 1, 1, "/dev/sda"), row(250_000, 'F', 0, 0, "/dev/sda")],
        &[("/dev/sda read -5 512", "offset, a whole number"), ("/dev/sda read 0 0", "at least 1")],
    );
    fio2.config.format = FormatName::Fio;
    fio2
}

/// Every sample.
pub fn all() -> Vec<Sample> {
    let groups =
        [own_and_logs(), block_traces(), simulators(), phones(), clouds(), vec![etw(), nbdkit(), fio2(), in_columns()]];
    groups.into_iter().flatten().collect()
}
