//! A file's contents: plain, or out of gzip, zstd and a tar archive.

use super::tar::{is_tar, Archive, TAR_BLOCK};
use flate2::bufread::GzDecoder;
use ruzstd::decoding::errors::{FrameDecoderError, ReadFrameHeaderError};
use ruzstd::decoding::{BlockDecodingStrategy, FrameDecoder};
use std::fs::File;
use std::io::{self, BufRead, BufReader, Cursor, Read};
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::sync::Arc;

/// File bytes read at a time.
const BUFFER_BYTES: usize = 256 * 1024;

const READ_TWICE: &str = "expected a file, not a pipe or a device: a trace is read through before it is played. Write \
                          it into a file first";

/// Bundled traces, by the name used in place of a path.
const BUNDLED: [(&str, &[u8]); 2] = [
    ("bundled:sqlite-rollback", include_bytes!("../../../../workloads/sqlite/rollback.csv.gz")),
    ("bundled:sqlite-wal", include_bytes!("../../../../workloads/sqlite/wal.csv.gz")),
];

const ZSTD: [u8; 4] = [0x28, 0xB5, 0x2F, 0xFD];

/// A file's contents, and whether an archive in it was cut short.
pub(crate) struct Contents {
    pub(crate) source: Box<dyn Read + Send>,
    /// Set at the end.
    pub(crate) is_cut: Arc<AtomicBool>,
}

/// A file, or a bundled trace.
fn source(path: &Path) -> io::Result<Box<dyn Read + Send>> {
    if let Some((_, bytes)) = BUNDLED.iter().find(|(name, _)| path.file_name().is_some_and(|file| file == *name)) {
        return Ok(Box::new(*bytes));
    }
    let kind = std::fs::metadata(path)?.file_type();
    if !kind.is_file() && !kind.is_dir() {
        return Err(io::Error::other(READ_TWICE));
    }
    Ok(Box::new(File::open(path)?))
}

/// Opens `path`; gzip, zstd and tar are recognised by their contents, whatever the name. `member` names the file to
/// read in a tar archive.
///
/// # Errors
/// System errors. Sources readable only once are refused, as opening a pipe would wait for its other end.
pub(crate) fn open(path: &Path, member: Option<&str>) -> io::Result<Contents> {
    if path.as_os_str().as_encoded_bytes().contains(&0) {
        return Err(io::Error::other("no file has a name with the character NUL"));
    }
    let (magic, whole) = peek(source(path)?, 4)?;
    let unpacked: Box<dyn Read + Send> = if magic.starts_with(&[0x1F, 0x8B]) {
        Box::new(Members(Some(GzDecoder::new(BufReader::with_capacity(BUFFER_BYTES, whole)))))
    } else if magic == ZSTD {
        Box::new(Frames::new(BufReader::with_capacity(BUFFER_BYTES, whole)))
    } else {
        Box::new(whole)
    };
    let (head, whole) = peek(unpacked, TAR_BLOCK)?;
    let is_cut = Arc::new(AtomicBool::new(false));
    let source: Box<dyn Read + Send> = if is_tar(&head) {
        Box::new(Archive::new(whole, member, Arc::clone(&is_cut)))
    } else if member.is_some() {
        return Err(io::Error::other("workload.trace.member names a file of a tar archive, and this is none"));
    } else {
        Box::new(whole)
    };
    Ok(Contents { source, is_cut })
}

/// A source's first bytes, and the whole source.
fn peek<R: Read>(mut source: R, bytes: usize) -> io::Result<(Vec<u8>, impl Read)> {
    let mut head = Vec::with_capacity(bytes);
    source.by_ref().take(bytes as u64).read_to_end(&mut head)?;
    Ok((head.clone(), Cursor::new(head).chain(source)))
}

/// A gzip file's contents, member by member.
struct Members<R>(Option<GzDecoder<R>>);

impl<R: BufRead> Read for Members<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while let Some(member) = &mut self.0 {
            let read = member.read(buffer).map_err(|error| packed("gzip", error))?;
            if read > 0 || buffer.is_empty() {
                return Ok(read);
            }
            let rest = member.get_mut().fill_buf()?;
            if rest.is_empty() {
                return Ok(0);
            }
            if rest[0] != 0x1F || rest.get(1).is_some_and(|&byte| byte != 0x8B) {
                return Err(io::Error::other("there is something else behind the end of the gzip data"));
            }
            self.0 = self.0.take().map(|member| GzDecoder::new(member.into_inner()));
        }
        Ok(0)
    }
}

/// A zstd file's contents, frame by frame.
struct Frames<R> {
    source: R,
    decoder: FrameDecoder,
    is_open: bool,
}

impl<R: BufRead> Frames<R> {
    fn new(source: R) -> Self {
        Self { source, decoder: FrameDecoder::new(), is_open: false }
    }

    /// Starts the next frame; false at the file's end.
    fn open(&mut self) -> io::Result<bool> {
        while !self.source.fill_buf()?.is_empty() {
            match self.decoder.reset(&mut self.source) {
                Ok(()) => return Ok(true),
                Err(FrameDecoderError::ReadFrameHeaderError(ReadFrameHeaderError::SkipFrame { length, .. })) => {
                    let length = u64::from(length);
                    if io::copy(&mut self.source.by_ref().take(length), &mut io::sink())? < length {
                        return Err(too_early("zstd"));
                    }
                }
                Err(error) => return Err(damaged(&error)),
            }
        }
        Ok(false)
    }

    /// Checks the sum over a frame read to its end.
    fn check(&self) -> io::Result<()> {
        match (self.decoder.get_checksum_from_data(), self.decoder.get_calculated_checksum()) {
            (Some(stored), Some(found)) if stored != found => {
                Err(io::Error::other("the zstd data is damaged: its checksum does not fit"))
            }
            _ => Ok(()),
        }
    }
}

impl<R: BufRead> Read for Frames<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            if !self.is_open {
                if !self.open()? {
                    return Ok(0);
                }
                self.is_open = true;
            }
            let read = self.decoder.read(buffer)?;
            if read > 0 || buffer.is_empty() {
                return Ok(read);
            }
            if self.decoder.is_finished() {
                self.check()?;
                self.is_open = false;
                continue;
            }
            let some = BlockDecodingStrategy::UptoBytes(buffer.len());
            self.decoder.decode_blocks(&mut self.source, some).map_err(|error| damaged(&error))?;
        }
    }
}

/// A zstd decoder's error, worded as the system would.
fn damaged(error: &FrameDecoderError) -> io::Error {
    let mut cause: Option<&(dyn std::error::Error + 'static)> = Some(error);
    while let Some(one) = cause {
        if one.downcast_ref::<io::Error>().is_some_and(|error| error.kind() == io::ErrorKind::UnexpectedEof) {
            return too_early("zstd");
        }
        cause = one.source();
    }
    if let FrameDecoderError::WindowSizeTooBig { requested } = error {
        let message = format!("the zstd data needs a window of {requested} bytes; pack it without --long or --ultra");
        return io::Error::other(message);
    }
    io::Error::other(format!("the zstd data is damaged ({error})"))
}

fn too_early(packing: &str) -> io::Error {
    io::Error::other(format!("the {packing} data ends too early: the file was not written or copied to its end"))
}

fn packed(packing: &str, error: io::Error) -> io::Error {
    match error.kind() {
        io::ErrorKind::UnexpectedEof => too_early(packing),
        io::ErrorKind::InvalidInput | io::ErrorKind::InvalidData => {
            io::Error::other(format!("the {packing} data is damaged ({error})"))
        }
        _ => error,
    }
}

/// The reason a trace cannot be read, as a sentence.
pub(crate) fn sentence(error: &io::Error) -> String {
    use io::ErrorKind as Kind;
    match error.kind() {
        Kind::NotFound => "there is no such file".to_owned(),
        Kind::PermissionDenied => "the file may not be read by you".to_owned(),
        Kind::IsADirectory => "this is a folder, expected a file".to_owned(),
        _ => error.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn members_follow_each_other_and_nothing_else_follows() {
        let packed = |text: &str| {
            let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
            encoder.write_all(text.as_bytes()).unwrap();
            encoder.finish().unwrap()
        };
        let read = |bytes: &[u8]| {
            let mut text = String::new();
            Members(Some(GzDecoder::new(bytes))).read_to_string(&mut text).map(|_| text)
        };
        let two = [packed("one\n"), packed("two\n")].concat();
        assert_eq!(read(&two).unwrap(), "one\ntwo\n");
        for rest in ["x", "garbage\n", "garbage that is longer than a header of gzip"] {
            let error = read(&[&two[..], rest.as_bytes()].concat()).unwrap_err();
            assert_eq!(sentence(&error), "there is something else behind the end of the gzip data");
        }
        for cut in [1, 9, 20] {
            let error = read(&two[..two.len() - cut]).unwrap_err();
            assert!(sentence(&error).starts_with("the gzip data ends too early"), "{error}");
        }
    }

    #[test]
    fn frames_follow_each_other_and_damage_is_named() {
        let packed = |text: &str| {
            ruzstd::encoding::compress_to_vec(text.as_bytes(), ruzstd::encoding::CompressionLevel::Fastest)
        };
        let read = |bytes: &[u8]| {
            let mut text = String::new();
            Frames::new(bytes).read_to_string(&mut text).map(|_| text)
        };
        let skippable = [0x50, 0x2A, 0x4D, 0x18, 3, 0, 0, 0, b'a', b'b', b'c'];
        let long = "0123456789,W,8\n".repeat(20_000);
        let whole = [&packed("one\n")[..], &skippable, &packed(&long)].concat();
        assert_eq!(read(&whole).unwrap(), format!("one\n{long}"));
        for cut in [1, 5, 9] {
            let error = read(&whole[..whole.len() - cut]).unwrap_err();
            assert!(sentence(&error).starts_with("the zstd data ends too early"), "{cut}: {error}");
        }
        let error = read(&[&whole[..], b"more than that"].concat()).unwrap_err();
        assert!(sentence(&error).starts_with("the zstd data is damaged"), "{error}");
        let middle = whole.len() / 2;
        let damaged = [&whole[..middle], &[whole[middle] ^ 0x10], &whole[middle + 1..]].concat();
        assert!(sentence(&read(&damaged).unwrap_err()).starts_with("the zstd data"));
    }
}
