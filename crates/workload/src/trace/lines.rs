//! Lines of a file, plain or compressed with gzip, in constant memory.

use flate2::bufread::GzDecoder;
use std::fs::File;
use std::io::{self, BufRead, Cursor, Read};
use std::ops::Range;
use std::path::Path;

/// Bytes read at a time; no line is longer.
const BUFFER_BYTES: usize = 256 * 1024;

const READ_TWICE: &str = "expected a file, not a pipe or a device: a trace is read through before it is played. Write \
                          it into a file first";

/// A line that does not fit the buffer.
#[derive(Debug, thiserror::Error)]
#[error("the line is longer than {BUFFER_BYTES} bytes")]
pub(crate) struct LongLine;

/// The contents of a gzip file: of one member after the other.
struct Members<R>(Option<GzDecoder<R>>);

impl<R: BufRead> Read for Members<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while let Some(member) = &mut self.0 {
            let read = member.read(buffer)?;
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

/// A file read line by line.
pub(crate) struct Lines {
    source: Box<dyn Read + Send>,
    buffer: Box<[u8]>,
    /// The bytes of the buffer that were read and not handed out.
    start: usize,
    end: usize,
    /// Up to here there is no line end.
    searched: usize,
    at_end: bool,
}

impl Lines {
    /// Opens `path`; gzip is recognised by its first two bytes, whatever the name.
    ///
    /// # Errors
    /// What the system says; and what can be read only once is refused, as opening a pipe would wait for its other end.
    pub(crate) fn open(path: &Path) -> io::Result<Self> {
        if path.as_os_str().as_encoded_bytes().contains(&0) {
            return Err(io::Error::other("no file has a name with the character NUL"));
        }
        let kind = std::fs::metadata(path)?.file_type();
        if !kind.is_file() && !kind.is_dir() {
            return Err(io::Error::other(READ_TWICE));
        }
        let mut file = File::open(path)?;
        let mut magic = Vec::with_capacity(2);
        file.by_ref().take(2).read_to_end(&mut magic)?;
        let is_gzip = magic == [0x1F, 0x8B];
        let whole = Cursor::new(magic).chain(file);
        let source: Box<dyn Read + Send> = if is_gzip {
            Box::new(Members(Some(GzDecoder::new(io::BufReader::with_capacity(BUFFER_BYTES, whole)))))
        } else {
            Box::new(whole)
        };
        let buffer = vec![0; BUFFER_BYTES].into_boxed_slice();
        Ok(Self { source, buffer, start: 0, end: 0, searched: 0, at_end: false })
    }

    /// The next line without its line end (`\n` or `\r\n`; the last line may have none).
    #[inline]
    pub(crate) fn next(&mut self) -> io::Result<Option<&[u8]>> {
        let Some(range) = self.next_range()? else { return Ok(None) };
        let line = &self.buffer[range];
        Ok(Some(line.strip_suffix(b"\r").unwrap_or(line)))
    }

    #[inline]
    fn next_range(&mut self) -> io::Result<Option<Range<usize>>> {
        loop {
            if let Some(length) = self.buffer[self.searched..self.end].iter().position(|&byte| byte == b'\n') {
                let line = self.start..self.searched + length;
                self.start = line.end + 1;
                self.searched = self.start;
                return Ok(Some(line));
            }
            self.searched = self.end;
            if self.at_end {
                let rest = self.start..self.end;
                self.start = self.end;
                return Ok((!rest.is_empty()).then_some(rest));
            }
            self.refill()?;
        }
    }

    fn refill(&mut self) -> io::Result<()> {
        self.buffer.copy_within(self.start..self.end, 0);
        self.end -= self.start;
        self.searched -= self.start;
        self.start = 0;
        if self.end == self.buffer.len() {
            return Err(io::Error::other(LongLine));
        }
        let read = loop {
            match self.source.read(&mut self.buffer[self.end..]) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                other => break other?,
            }
        };
        self.at_end = read == 0;
        self.end += read;
        Ok(())
    }
}

/// Why a trace cannot be read, as a sentence.
pub(crate) fn sentence(error: &io::Error) -> String {
    use io::ErrorKind as Kind;
    match error.kind() {
        Kind::NotFound => "there is no such file".to_owned(),
        Kind::PermissionDenied => "the file may not be read by you".to_owned(),
        Kind::IsADirectory => "this is a folder, expected a file".to_owned(),
        Kind::UnexpectedEof => "the gzip data ends too early: the file was not written or copied to its end".to_owned(),
        Kind::InvalidInput | Kind::InvalidData => format!("the gzip data is damaged ({error})"),
        _ => error.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    fn lines(bytes: &[u8]) -> Vec<Vec<u8>> {
        let source = Box::new(Cursor::new(bytes.to_vec()));
        let buffer = vec![0; 16].into_boxed_slice();
        let mut lines = Lines { source, buffer, start: 0, end: 0, searched: 0, at_end: false };
        std::iter::from_fn(|| lines.next().unwrap().map(<[u8]>::to_vec)).collect()
    }

    #[test]
    fn line_ends_of_every_kind() {
        assert_eq!(lines(b"ab\ncd\n"), [b"ab", b"cd"]);
        assert_eq!(lines(b"ab\r\ncd"), [b"ab", b"cd"]);
        assert_eq!(lines(b"\n\nx\n"), [b"".to_vec(), b"".to_vec(), b"x".to_vec()]);
        assert!(lines(b"").is_empty());
    }

    #[test]
    fn lines_cross_the_buffer() {
        let text: Vec<String> = (0..50).map(|n| "0123456789abcdef"[..n % 15].to_owned()).collect();
        assert_eq!(lines((text.join("\n") + "\n").as_bytes()), text.iter().map(String::as_bytes).collect::<Vec<_>>());
    }

    #[test]
    fn a_line_without_end_is_refused() {
        let source = Box::new(io::repeat(b'x'));
        let mut lines = Lines { source, buffer: vec![0; 16].into(), start: 0, end: 0, searched: 0, at_end: false };
        let error = lines.next().unwrap_err();
        assert!(matches!(error.get_ref(), Some(inner) if inner.is::<LongLine>()), "{error}");
    }

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
    fn a_name_with_nul_is_refused() {
        let error = Lines::open(Path::new("a\0b")).map(|_| ()).unwrap_err();
        assert_eq!(sentence(&error), "no file has a name with the character NUL");
    }
}
