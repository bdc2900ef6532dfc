//! Files that are no trace as they are, but that people have: what to do with each.

/// What to do with contents that start so; `None` where nothing is known of them.
pub(super) fn named(head: &[u8]) -> Option<&'static str> {
    let known: [(&[u8], &str); 8] = [
        (
            b"\xFD7zXZ\0",
            "this is packed with xz, which is not read: unpack it with `xz -dk`, or pack it with gzip or zstd",
        ),
        (b"BZh", "this is packed with bzip2, which is not read: unpack it with `bzip2 -dk`"),
        (b"\x04\x22\x4D\x18", "this is packed with lz4, which is not read: unpack it with `lz4 -d`"),
        (b"7z\xBC\xAF\x27\x1C", "this is a 7z archive, which is not read: unpack it with `7z x`"),
        (b"PK\x03\x04", "this is a zip archive, which is not read: unpack it with `unzip`"),
        (
            b"PAR1",
            "this is a Parquet file, which is not read as a trace: write it as text, as with `write_csv` of polars",
        ),
        (b"\xFF\xFE", UTF_16),
        (b"\xFE\xFF", UTF_16),
    ];
    // Its magic number in either order of bytes, beside a version.
    if matches!(head, [0..32, b't', b'a', b'e', ..] | [b'e', b'a', b't', 0..32, ..]) {
        return Some("this is the binary output of blktrace: `blkparse -i` writes the text that is read");
    }
    known.iter().find(|(start, _)| head.starts_with(start)).map(|&(_, said)| said)
}

const UTF_16: &str = "this text is in UTF-16: write it in UTF-8, as with `iconv -f UTF-16 -t UTF-8`";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_is_named_and_traces_are_not() {
        for (head, name) in [
            (&b"\xFD7zXZ\0\0\x04"[..], "xz"),
            (b"PK\x03\x04\x14", "zip"),
            (b"\xFF\xFE0\0,\0", "UTF-16"),
            (b"PAR1\x15\x04", "Parquet"),
            (b"\x07tae\x01\0\0\0", "blktrace"),
            (b"eat\x07\0\0\0\x01", "blktrace"),
        ] {
            assert!(named(head).unwrap().contains(name), "{name}");
        }
        for head in [&b"0,1,512,r,0.5"[..], b"", b"PAR", b"tea,op,lba,size"] {
            assert_eq!(named(head), None);
        }
    }
}
