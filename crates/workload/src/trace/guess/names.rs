//! Meanings from column names.

/// Parts in column names, most specific first.
pub(super) const TIME: &[&str] = &[
    "timestamp",
    "time",
    "arrival",
    "when",
    "date",
    "ts",
    "sec",
    "usec",
    "us",
    "ms",
    "ns",
    "t",
    "zeit",
    "temps",
    "tiempo",
    "tempo",
];
pub(super) const OP: &[&str] = &[
    "op",
    "rw",
    "rwbs",
    "iotype",
    "type",
    "kind",
    "cmd",
    "command",
    "direction",
    "action",
    "request",
    "operation",
    "vorgang",
    "befehl",
    "tipo",
];
pub(super) const FLAG: &[&str] = &["write", "read"];
pub(super) const ADDRESS: &[&str] = &[
    "lba",
    "offset",
    "address",
    "addr",
    "sector",
    "lbn",
    "lpn",
    "lpa",
    "start",
    "blkno",
    "pos",
    "block",
    "page",
    "first",
    "sektor",
    "adresse",
    "secteur",
    "settore",
    "direccion",
    "direcci\u{f3}n",
    "indirizzo",
];
pub(super) const SIZE: &[&str] = &[
    "size",
    "length",
    "len",
    "bytes",
    "nsectors",
    "sectors",
    "count",
    "nblocks",
    "blocks",
    "npages",
    "pages",
    "nlb",
    "amount",
    "sektoren",
    "gr\u{f6}\u{df}e",
    "groesse",
    "l\u{e4}nge",
    "laenge",
    "anzahl",
    "taille",
    "secteurs",
    "longueur",
    "tama\u{f1}o",
    "sectores",
    "settori",
    "dimensione",
    "lunghezza",
    "octets",
];
/// Names for a request's end, so no size.
pub(super) const END: &[&str] = &["last", "end", "stop", "final", "until"];
pub(super) const DEVICE: &[&str] = &[
    "device",
    "dev",
    "disk",
    "drive",
    "lun",
    "volume",
    "vol",
    "asu",
    "host",
    "server",
    "namespace",
    "nsid",
    "major",
    "minor",
    "target",
    "tenant",
    "ssd",
    "hdd",
];
/// Columns with few values that are no device.
pub(super) const OTHER: &[&str] = &[
    "pid", "tid", "proc", "comm", "cpu", "core", "thread", "lat", "resp", "time", "date", "dur", "flag", "seq", "stat",
    "err", "ret", "queue", "depth", "prio", "md5", "hash", "origin", "file", "inode", "user", "uid", "wait", "sync",
    "app", "result", "detail", "path",
];

/// A name in small letters, without signs.
pub(super) fn plain(name: &str) -> String {
    name.to_lowercase().replace(|letter: char| !letter.is_alphanumeric(), "")
}

/// The words in a name: `rq`, `size` and `kb` in `rq_size (KB)`.
pub(super) fn words(name: &str) -> impl Iterator<Item = String> + '_ {
    name.split(|letter: char| !letter.is_alphanumeric()).map(str::to_lowercase)
}

/// How many names are known.
pub(super) fn known(names: &[&str]) -> usize {
    let all = [TIME, OP, FLAG, ADDRESS, SIZE, DEVICE, OTHER];
    let is_known = |name: &&&str| {
        let is_part =
            |part: &&str| part.len() > 2 && plain(name).contains(part) || words(name).any(|word| word == **part);
        all.iter().any(|parts| parts.iter().any(is_part))
    };
    names.iter().filter(is_known).count()
}

/// Whether the name means a request's end.
pub(super) fn is_end(name: &str) -> bool {
    words(name).any(|word| END.contains(&word.as_str())) || END.iter().any(|part| plain(name).starts_with(part))
}

/// Whether the name counts units, and so is no address: `nsectors`, `num_blocks`, `pages`.
pub(super) fn is_count(name: &str) -> bool {
    let name = plain(name);
    let is_address = ["lba", "offset", "addr", "start", "first", "adress"].iter().any(|part| name.contains(part));
    let units = [
        "sectors", "blocks", "pages", "count", "size", "length", "num", "nsec", "nblk", "sektoren", "secteurs",
        "sectores", "settori", "anzahl",
    ];
    !is_address && units.iter().any(|part| name.contains(part))
}

/// Whether a time's name means a duration.
pub(super) fn is_duration(name: &str) -> bool {
    ["lat", "resp", "dur", "service", "elapsed", "wait", "antwort", "dauer"]
        .iter()
        .any(|part| plain(name).contains(part))
}
