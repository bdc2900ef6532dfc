//! A file cut into records: lines, fixed-length pieces, or blocks, in constant memory.

use super::unpack::{self, Contents};
use std::io::{self, Read};
use std::ops::Range;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;

pub(crate) use super::unpack::sentence;

/// Bytes read at a time; no line is longer.
const BUFFER_BYTES: usize = 256 * 1024;

pub(crate) const BYTE_ORDER_MARK: &[u8] = b"\xEF\xBB\xBF";

/// A line longer than the buffer.
#[derive(Debug, thiserror::Error)]
#[error("the line is longer than {BUFFER_BYTES} bytes")]
pub(crate) struct LongLine;

/// A file read line by line, or piece by piece.
pub(crate) struct Lines {
    source: Box<dyn Read + Send>,
    is_cut: Arc<AtomicBool>,
    buffer: Box<[u8]>,
    /// The buffered bytes not handed out yet.
    start: usize,
    end: usize,
    /// Up to here there is no line end.
    searched: usize,
    at_end: bool,
}

impl Lines {
    /// Longest line in bytes.
    pub(crate) const LONGEST: usize = BUFFER_BYTES - BYTE_ORDER_MARK.len();

    /// Opens `path`, unpacked if packed; `member` chooses a file in an archive.
    ///
    /// # Errors
    /// As [`unpack::open`].
    pub(crate) fn open(path: &Path, member: Option<&str>) -> io::Result<Self> {
        let Contents { source, is_cut } = unpack::open(path, member)?;
        Ok(Self::new(source, is_cut, BUFFER_BYTES))
    }

    /// The lines of a text.
    pub(crate) fn of_text(text: &str) -> Self {
        Self::new(Box::new(io::Cursor::new(text.as_bytes().to_vec())), Arc::default(), BUFFER_BYTES)
    }

    /// Skips the mark some programs put before a text.
    pub(crate) fn skip_byte_order_mark(&mut self) -> io::Result<()> {
        if self.peek(BYTE_ORDER_MARK.len())? == BYTE_ORDER_MARK {
            self.start += BYTE_ORDER_MARK.len();
            self.searched = self.start;
        }
        Ok(())
    }

    fn new(source: Box<dyn Read + Send>, is_cut: Arc<AtomicBool>, bytes: usize) -> Self {
        let buffer = vec![0; bytes].into_boxed_slice();
        Self { source, is_cut, buffer, start: 0, end: 0, searched: 0, at_end: false }
    }

    /// Whether the file is an archive cut inside a member; known at the end.
    pub(crate) fn is_cut(&self) -> bool {
        self.is_cut.load(Ordering::Relaxed)
    }

    /// The next bytes, at most `bytes` and no more than the buffer holds; fewer only at the end. They stay unread.
    pub(crate) fn peek(&mut self, bytes: usize) -> io::Result<&[u8]> {
        let wanted = bytes.min(self.buffer.len());
        while self.end - self.start < wanted && !self.at_end {
            self.refill()?;
        }
        Ok(&self.buffer[self.start..self.end.min(self.start + wanted)])
    }

    /// The next `bytes` bytes; fewer at the file's end, none after it.
    #[inline]
    pub(crate) fn piece(&mut self, bytes: usize) -> io::Result<&[u8]> {
        let length = self.peek(bytes)?.len();
        let start = self.start;
        self.start += length;
        self.searched = self.start;
        Ok(&self.buffer[start..start + length])
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
        self.searched = self.searched.saturating_sub(self.start);
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

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Cursor;

    fn of(source: impl Read + Send + 'static) -> Lines {
        Lines::new(Box::new(source), Arc::default(), 16)
    }

    fn lines(bytes: &[u8]) -> Vec<Vec<u8>> {
        let mut lines = of(Cursor::new(bytes.to_vec()));
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
    fn pieces_cross_the_buffer_and_the_last_may_be_short() {
        let bytes: Vec<u8> = (0..100).collect();
        let mut lines = of(Cursor::new(bytes.clone()));
        let mut pieces: Vec<u8> = Vec::new();
        loop {
            let next = &bytes[pieces.len()..];
            assert_eq!(lines.peek(3).unwrap(), &next[..next.len().min(3)]);
            let piece = lines.piece(7).unwrap();
            if piece.is_empty() {
                break;
            }
            pieces.extend(piece);
        }
        assert_eq!(pieces, bytes);
    }

    #[test]
    fn a_line_without_end_is_refused() {
        let error = of(io::repeat(b'x')).next().unwrap_err();
        assert!(matches!(error.get_ref(), Some(inner) if inner.is::<LongLine>()), "{error}");
    }

    #[test]
    fn a_name_with_nul_is_refused() {
        let error = Lines::open(Path::new("a\0b"), None).map(|_| ()).unwrap_err();
        assert_eq!(sentence(&error), "no file has a name with the character NUL");
    }
}
