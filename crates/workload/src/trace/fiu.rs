//! FIU: traces of Florida International University (homes, mail, online, webmail, web-vm).
//!
//! `time pid process sector sectors op major minor md5`, blanks between: nanoseconds, first 512-byte sector, sector
//! count, `R` or `W`, the device numbers, and the contents' MD5, checked for its form only. The archives are tar files
//! with several such files: they are read without unpacking, one file after the other.
//!
//! Source: Koller & Rangaswami, "I/O Deduplication", FAST 2010; SNIA IOTTA repository.

use super::fields::{in_sectors, Columns, Fields, TimeUnit};
use super::format::{Format, ReaderOptions};
use super::line::{Line, Malformed};

/// Reads one line.
#[derive(Debug)]
pub struct Fiu(TimeUnit);

impl Fiu {
    pub(crate) fn new(options: &ReaderOptions) -> Self {
        Self(options.time_unit(TimeUnit::Ns))
    }
}

impl Format for Fiu {
    #[inline]
    fn record<'a>(&'a mut self, line: &'a [u8]) -> Result<Line<'a>, Malformed> {
        let mut fields = Fields::new(line);
        let time = fields.time("time", self.0)?;
        fields.blank("pid")?;
        fields.number("pid, a whole number", u64::MAX)?;
        fields.blank("process")?;
        fields.word("process")?;
        fields.blank("sector")?;
        // A process name may contain blanks.
        while fields.peek().is_some_and(|byte| !byte.is_ascii_digit()) {
            fields.word("sector, a whole number of 512-byte sectors")?;
            fields.blank("sector, a whole number of 512-byte sectors")?;
        }
        let address = fields.at;
        let sector = fields.number("sector, a whole number of 512-byte sectors", u64::MAX)?;
        fields.blank("sectors")?;
        let size = fields.at;
        let sectors = fields.number("sectors, a whole number of 512-byte sectors", u64::MAX)?;
        fields.blank("R (read) or W (write)")?;
        let op = fields.read_or_write()?;
        fields.blank("major")?;
        let device = fields.at;
        fields.number("major, a whole number", u64::MAX)?;
        fields.blank("minor")?;
        fields.number("minor, a whole number", u64::MAX)?;
        let device = &line[device..fields.at];
        fields.blank("MD5")?;
        let md5 = fields.at;
        let digits = fields.word("MD5")?;
        if digits.len() != 32 || !digits.iter().all(u8::is_ascii_hexdigit) {
            fields.at = md5;
            return Err(fields.unexpected("MD5, 32 hexadecimal digits"));
        }
        fields.end()?;
        in_sectors((time, op), (sector, sectors), device, Columns { address, size })
    }
}
