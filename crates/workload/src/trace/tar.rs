//! The chosen or only file in a tar archive.

use std::io::{self, Read};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;

/// Tar block bytes.
pub(super) const TAR_BLOCK: usize = 512;

/// Name bytes examined; a longer name loses its end.
const MAX_NAME: u64 = 64 * 1024;

/// Files listed in a message.
const LISTED: usize = 12;

pub(super) fn is_tar(block: &[u8]) -> bool {
    block.len() == TAR_BLOCK && block[257..].starts_with(b"ustar")
}

/// The trace's file in a tar archive. Several would be read as one trace, so one has to be chosen.
pub(super) struct Archive<R> {
    source: R,
    wanted: Option<String>,
    /// The current or last file.
    name: Option<String>,
    /// Unread bytes in the file, and in the padding after it.
    left: u64,
    padding: u64,
    /// Nothing follows.
    is_over: bool,
    is_cut: Arc<AtomicBool>,
}

/// A file in an archive.
struct Member {
    name: String,
    bytes: u64,
}

impl Member {
    /// Bytes up to the next header.
    fn padded(&self) -> u64 {
        self.bytes.next_multiple_of(TAR_BLOCK as u64)
    }
}

impl<R: Read> Archive<R> {
    pub(super) fn new(source: R, wanted: Option<&str>, is_cut: Arc<AtomicBool>) -> Self {
        let wanted = wanted.map(|name| plain(name).to_owned());
        Self { source, wanted, name: None, left: 0, padding: 0, is_over: false, is_cut }
    }

    /// Goes to the next file to read; false at the archive's end.
    fn next_file(&mut self) -> io::Result<bool> {
        self.skip(self.padding)?;
        self.padding = 0;
        let mut passed = Vec::new();
        while let Some(member) = self.next_member()? {
            let is_wanted = self.wanted.as_ref().is_none_or(|name| *name == member.name);
            if let Some(name) = self.name.take().filter(|_| is_wanted && self.wanted.is_none()) {
                return Err(self.several(vec![name, member.name.clone()], &member));
            }
            if is_wanted {
                (self.left, self.padding) = (member.bytes, member.padded() - member.bytes);
                self.name = Some(member.name);
                return Ok(true);
            }
            self.skip(member.padded())?;
            passed.push(member.name);
        }
        match &self.wanted {
            Some(wanted) if self.name.is_none() => Err(io::Error::other(format!(
                "the archive has no file {wanted:?} (workload.trace.member); it has {}",
                listed(&passed)
            ))),
            _ => Ok(false),
        }
    }

    /// The refusal for an archive with several files; `names` are the files met, `last` the one with unread contents.
    #[cold]
    fn several(&mut self, mut names: Vec<String>, last: &Member) -> io::Error {
        let mut bytes = last.padded();
        // Unreadable files are not listed.
        while self.skip(bytes).is_ok() {
            let Ok(Some(member)) = self.next_member() else { break };
            bytes = member.padded();
            names.push(member.name);
        }
        io::Error::other(format!(
            "the archive has {} files, {}, and they are not one trace: choose one with workload.trace.member = {:?}",
            names.len(),
            listed(&names),
            names[0]
        ))
    }

    /// The next nonempty file; entries that only describe files are skipped.
    fn next_member(&mut self) -> io::Result<Option<Member>> {
        let mut long_name = None;
        while !self.is_over {
            let mut block = Vec::with_capacity(TAR_BLOCK);
            self.source.by_ref().take(TAR_BLOCK as u64).read_to_end(&mut block)?;
            if block.len() < TAR_BLOCK || block.iter().all(|&byte| byte == 0) {
                self.is_cut.fetch_or(block.len() < TAR_BLOCK, Ordering::Relaxed);
                self.is_over = true;
                break;
            }
            if !is_tar(&block) {
                return Err(io::Error::other("the tar archive is damaged: expected the header of a file"));
            }
            let bytes = tar_number(&block[124..136])?;
            let name = long_name.take().unwrap_or_else(|| name_of(&block));
            let member = Member { name: plain(&name).to_owned(), bytes };
            match block[156] {
                // Files have type 0 or NUL; a Mac's `._` files describe another one.
                b'0' | 0 if bytes > 0 && !member.name.rsplit('/').next().unwrap_or("").starts_with("._") => {
                    return Ok(Some(member));
                }
                kind @ (b'L' | b'x') => {
                    let mut text = Vec::new();
                    let read = self.source.by_ref().take(bytes.min(MAX_NAME)).read_to_end(&mut text)?;
                    self.skip(member.padded() - read as u64)?;
                    long_name = if kind == b'L' { Some(text_of(&text)) } else { path_of(&text) };
                }
                _ => self.skip(member.padded())?,
            }
        }
        Ok(None)
    }

    fn skip(&mut self, bytes: u64) -> io::Result<()> {
        io::copy(&mut self.source.by_ref().take(bytes), &mut io::sink()).map(drop)
    }
}

impl<R: Read> Read for Archive<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if buffer.is_empty() {
            return Ok(0);
        }
        while self.left == 0 {
            // Files after the chosen one are not read.
            if self.is_over || self.wanted.is_some() && self.name.is_some() || !self.next_file()? {
                return Ok(0);
            }
        }
        let most = (buffer.len() as u64).min(self.left) as usize;
        let read = self.source.read(&mut buffer[..most])?;
        self.left -= read as u64;
        if read == 0 {
            // People publish an archive's head as a sample: its data is whole.
            self.is_cut.store(true, Ordering::Relaxed);
            (self.left, self.padding, self.is_over) = (0, 0, true);
        }
        Ok(read)
    }
}

fn listed(names: &[String]) -> String {
    let shown: Vec<String> = names.iter().take(LISTED).map(|name| format!("{name:?}")).collect();
    let more = names.len() - shown.len();
    match (shown.is_empty(), more) {
        (true, _) => "none".to_owned(),
        (_, 0) => shown.join(", "),
        _ => format!("{} and {more} more", shown.join(", ")),
    }
}

/// A name without its redundant folder.
fn plain(name: &str) -> &str {
    name.strip_prefix("./").unwrap_or(name)
}

fn text_of(bytes: &[u8]) -> String {
    let end = bytes.iter().position(|&byte| byte == 0).unwrap_or(bytes.len());
    String::from_utf8_lossy(&bytes[..end]).into_owned()
}

/// The name in a header: a folder prefix is stored separately.
fn name_of(block: &[u8]) -> String {
    let (name, prefix) = (text_of(&block[..100]), text_of(&block[345..500]));
    // GNU tar writes two blanks behind `ustar`, and other data in place of the prefix.
    if prefix.is_empty() || block[262] == b' ' {
        return name;
    }
    format!("{prefix}/{name}")
}

/// The `path` in an extended header: records `length key=value`, each with a line end.
fn path_of(text: &[u8]) -> Option<String> {
    let mut rest = text;
    while let Some(blank) = rest.iter().position(|&byte| byte == b' ') {
        let length: usize = std::str::from_utf8(&rest[..blank]).ok()?.parse().ok()?;
        let record = rest.get(blank + 1..length.checked_sub(1)?)?;
        if let Some(path) = record.strip_prefix(b"path=") {
            return Some(text_of(path));
        }
        rest = rest.get(length..)?;
    }
    None
}

/// A number in a tar header: octal, or binary if it is large.
fn tar_number(field: &[u8]) -> io::Result<u64> {
    let damaged = || io::Error::other("the tar archive is damaged: expected the size of a file");
    if field[0] & 0x80 != 0 {
        let high = field[..4].iter().any(|&byte| byte != 0 && byte != 0x80);
        let number = field[4..].iter().fold(0u64, |value, &byte| value << 8 | u64::from(byte));
        return if high || number > 1 << 60 { Err(damaged()) } else { Ok(number) };
    }
    let text = std::str::from_utf8(field).map_err(|_| damaged())?;
    let digits = text.trim_matches(|c: char| c == '\0' || c == ' ');
    u64::from_str_radix(digits, 8).map_err(|_| damaged())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tar(files: &[(u8, &str, &str)]) -> Vec<u8> {
        let mut archive = Vec::new();
        for (kind, name, text) in files {
            let mut block = [0; TAR_BLOCK];
            block[..name.len()].copy_from_slice(name.as_bytes());
            block[124..136].copy_from_slice(format!("{:011o}\0", text.len()).as_bytes());
            block[156] = *kind;
            block[257..262].copy_from_slice(b"ustar");
            archive.extend(block);
            archive.extend(text.as_bytes());
            archive.resize(archive.len().next_multiple_of(TAR_BLOCK), 0);
        }
        archive.extend([0; 2 * TAR_BLOCK]);
        archive
    }

    fn read(bytes: &[u8], wanted: Option<&str>) -> Result<(String, bool), String> {
        let is_cut = Arc::new(AtomicBool::new(false));
        let mut text = String::new();
        let read = Archive::new(bytes, wanted, Arc::clone(&is_cut)).read_to_string(&mut text);
        read.map(|_| (text, is_cut.load(Ordering::Relaxed))).map_err(|error| error.to_string())
    }

    #[test]
    fn the_one_file_of_an_archive_is_read_whatever_describes_it() {
        let files = [
            (b'5', "d/", ""),
            (b'x', "h", "28 ctime=1\n"),
            (b'0', "./d/one", "one\n"),
            (0, "d/._one", "of a Mac"),
            (0, "empty", ""),
        ];
        let whole = tar(&files);
        assert_eq!(read(&whole, None), Ok(("one\n".to_owned(), false)));
        assert_eq!(read(&whole, Some("d/one")), Ok(("one\n".to_owned(), false)));
        let one = tar(&[(b'0', "one", "one\n")]);
        assert_eq!(read(&one[..TAR_BLOCK + 2], None), Ok(("on".to_owned(), true)));
        let mut damaged = one;
        damaged[257] = b'U';
        assert!(read(&damaged, None).unwrap_err().contains("is damaged"));
    }

    #[test]
    fn of_several_files_one_has_to_be_chosen() {
        let long = "17 path=two long\n";
        let files =
            [(b'0', "one", "one\n"), (b'x', "h", long), (0, "cut", "two\n"), (b'L', "h", "third"), (0, "c", "3\n")];
        let whole = tar(&files);
        let error = read(&whole, None).unwrap_err();
        assert_eq!(
            error,
            "the archive has 3 files, \"one\", \"two long\", \"third\", and they are not one trace: choose one with \
             workload.trace.member = \"one\""
        );
        for (name, text) in [("one", "one\n"), ("two long", "two\n"), ("./third", "3\n")] {
            assert_eq!(read(&whole, Some(name)), Ok((text.to_owned(), false)), "{name}");
        }
        let error = read(&whole, Some("tow")).unwrap_err();
        assert!(
            error.contains("has no file \"tow\"") && error.ends_with("it has \"one\", \"two long\", \"third\""),
            "{error}"
        );
    }
}
