//! Columns: any text with one request a line, whose columns and units the experiment names.
//!
//! `[workload.trace.columns]` gives the columns for time, operation, address, size, device and placement (by the names
//! in the first line or by numbers from 1), the separator, and the bytes per unit for address and size. `time_unit` is the
//! time column's unit, microseconds by default, `date_time` for dates such as `2024-05-31 12:30:00.25`, `05/31/2024
//! 12:30 PM` (the month first) or `31.05.2024 12:30` (the day first); a time may have a decimal comma (`0,5`) or its
//! own unit (`2.471ms`). Without a time column all times are 0. Several columns may name the device together. Addresses
//! and sizes may be hexadecimal (`0x1f00`), have thousands apart (`"12,345"`), end in `.0`, or name a unit based on 1024 bytes (`4K`, `1MiB`); without a
//! size column every request has `fixed_size_bytes`. A separator between double quotes separates nothing. A write named
//! as in the kernel (`FWS`, `WFS`) has its flushes. Lines starting with `#` are skipped, as are the first `skip_lines`.

use super::cells::{bytes_of, time_of, without_thousands, Split};
use super::column_options::{Column, ColumnOptions, Separator, KEYS, MAX_DEVICE_COLUMNS};
use super::fields::{flush, in_bytes, shown, Columns as Places, Fields, TimeUnit};
use super::format::{Format, ReaderOptions};
use super::line::{Line, Malformed};
use super::rwbs::Rwbs;
use crate::placement;
use nandlab_block::{nearest, Op};
use nandlab_nand::{PlacementId, Time};

/// Reads one line.
#[derive(Debug)]
pub struct Columns {
    options: Option<Box<ColumnOptions>>,
    unit: TimeUnit,
    /// Lines still to skip at the start.
    skips: u32,
    /// The positions of the columns in [`KEYS`], from 0; `usize::MAX` for a missing one.
    at: [usize; KEYS.len()],
    /// The device columns' positions, and their joint name on the line before.
    devices: Vec<usize>,
    device: Vec<u8>,
    /// Whether commas in times stand between thousands, once one told it; in a table parted by commas alone.
    has_thousands: Option<bool>,
}

impl Columns {
    pub(crate) fn new(options: &ReaderOptions) -> Self {
        let place = |column: &Column| match *column {
            Column::Number(number) => (number as usize).wrapping_sub(1),
            Column::Name(_) => usize::MAX,
        };
        let columns = options.columns.as_ref();
        Self {
            at: columns
                .map_or([usize::MAX; KEYS.len()], |columns| columns.wanted().map(|one| one.map_or(usize::MAX, place))),
            devices: columns.map_or_else(Vec::new, |columns| columns.devices().iter().map(place).collect()),
            device: Vec::new(),
            has_thousands: None,
            skips: columns.map_or(0, |columns| columns.skip_lines),
            options: options.columns.clone(),
            unit: options.time_unit(TimeUnit::Us),
        }
    }

    fn separator(&self) -> Separator {
        self.options.as_ref().map_or(Separator::Comma, |options| options.separator)
    }
}

const NO_OPTIONS: &str = "the format `columns` needs the table workload.trace.columns, which says where the time, the \
                          operation, the address and the size stand";

impl Format for Columns {
    fn header(&mut self, line: &[u8]) -> Result<bool, Malformed> {
        let Some(options) = &self.options else { return Err(Malformed::new(0, NO_OPTIONS.to_owned())) };
        if self.skips > 0 {
            self.skips -= 1;
            return Ok(false);
        }
        if !options.has_header() {
            return Ok(false);
        }
        let names: Vec<String> = Split::new(line, self.separator())
            .map(|(start, end)| String::from_utf8_lossy(&line[start..end]).into_owned())
            .collect();
        let devices = self.devices.iter_mut().zip(options.devices().iter().map(Some));
        for (at, column) in self.at.iter_mut().zip(options.wanted()).chain(devices) {
            let Some(Column::Name(name)) = column else { continue };
            *at = names.iter().position(|found| found == name).ok_or_else(|| {
                let known = names.iter().map(String::as_str);
                let hint = nearest(name, known).map(|near| format!("; did you mean {}?", shown(near.as_bytes())));
                let hint = hint.unwrap_or_default();
                let line = shown(line);
                Malformed::new(0, format!("expected a column {}{hint}, found {line}", shown(name.as_bytes())))
            })?;
        }
        Ok(true)
    }

    #[inline]
    fn record<'a>(&'a mut self, line: &'a [u8]) -> Result<Line<'a>, Malformed> {
        let Some(options) = &self.options else { return Err(Malformed::new(0, NO_OPTIONS.to_owned())) };
        if self.is_comment(line) {
            return Ok(Line::Other);
        }
        const ABSENT: (usize, usize) = (usize::MAX, usize::MAX);
        let mut found = [(line.len(), line.len()); KEYS.len()];
        let mut devices = [ABSENT; MAX_DEVICE_COLUMNS];
        for (number, place) in Split::new(line, options.separator).enumerate() {
            let wanted = self.at.iter().chain(&self.devices);
            for (slot, &at) in found.iter_mut().chain(&mut devices).zip(wanted) {
                if at == number {
                    *slot = place;
                }
            }
        }
        let [time, op, address, size, placement] = found;
        let field = |(start, end): (usize, usize)| Fields { line: &line[..end], at: start };
        let name = &line[op.0..op.1];
        let is = |names: &[String]| names.iter().any(|known| known.as_bytes() == name);
        let kind = match () {
            () if is(&options.read) => Op::Read,
            () if is(&options.write) => Op::Write,
            () if is(&options.trim) => Op::Trim,
            () if is(&options.flush) => Op::Flush,
            () => return Err(no_operation(options, op.0, name)),
        };
        let when = match options.time {
            Some(_) if options.separator == Separator::Comma && line[time.0..time.1].contains(&b',') => {
                with_comma(field(time), self.unit, &mut self.has_thousands)?
            }
            Some(_) => when(field(time), self.unit)?,
            None => 0,
        };
        let number = |place: (usize, usize), what, unit: u32| {
            let mut fields = field(place);
            let value = fields.number(what, u64::MAX / u64::from(unit));
            match value {
                Ok(value) if fields.at == place.1 => Ok(value * u64::from(unit)),
                Err(bad) if fields.at > place.0 => Err(bad),
                _ => bytes_of(&line[place.0..place.1], unit).ok_or_else(|| field(place).unexpected(what)),
            }
        };
        let is_rwbs = kind == Op::Write && name.contains(&b'F') && name.iter().all(|letter| b"FWSAM".contains(letter));
        let (mut start, mut bytes) = (0, 0);
        if kind != Op::Flush {
            bytes = match options.fixed_size_bytes {
                None => number(size, "a size, a whole number", options.size_unit_bytes)?,
                Some(bytes) => bytes,
            };
        }
        let is_flush = kind == Op::Flush || is_rwbs && bytes == 0;
        if !is_flush {
            start = number(address, "an address, a whole number", options.address_unit_bytes)?;
        }
        let placement = placed(line, placement)?;
        let device = device(&mut self.device, line, &devices[..self.devices.len()])?;
        if is_rwbs && is_flush {
            return Ok(flush(when, device));
        }
        let mut line = in_bytes((when, kind), (start, bytes), device, Places { address: address.0, size: size.0 })?;
        if is_rwbs {
            Rwbs::of(name).add_flushes(&mut line);
        }
        if let (Line::Request(found), Op::Write) = (&mut line, kind) {
            found.request.placement = placement;
        }
        Ok(line)
    }

    fn keeps_order(&self) -> bool {
        true
    }

    fn is_comment(&self, line: &[u8]) -> bool {
        self.skips > 0 || line.starts_with(b"#")
    }
}

/// An unknown operation in the columns.
#[cold]
fn no_operation(options: &ColumnOptions, at: usize, name: &[u8]) -> Malformed {
    let known = [&options.read, &options.write, &options.trim, &options.flush].map(|names| names.join(", "));
    let known: String = known.join(", ").chars().take(200).collect();
    Malformed::new(at, format!("expected an operation ({known}), found {}", shown(name)))
}

/// A time filling its column, in any supported form.
#[inline]
fn when(mut fields: Fields<'_>, unit: TimeUnit) -> Result<Time, Malformed> {
    let cell = &fields.line[fields.at..];
    let found = fields.time("time", unit).and_then(|when| fields.end().map(|()| when));
    found.or_else(|bad| time_of(cell, unit).ok_or(bad))
}

/// A quoted time with commas in a table parted by commas: `1,000` is a thousand, unless a cell such as `0,5` came before.
#[cold]
fn with_comma(fields: Fields<'_>, unit: TimeUnit, has_thousands: &mut Option<bool>) -> Result<Time, Malformed> {
    let at = fields.at;
    let cell = String::from_utf8_lossy(&fields.line[at..]).into_owned();
    let whole = cell.find('.').map_or(cell.as_str(), |point| &cell[..point]);
    let joined = without_thousands(whole).filter(|_| unit != TimeUnit::DateTime && *has_thousands != Some(false));
    let Some(joined) = joined else {
        let time = when(fields, unit)?;
        if unit != TimeUnit::DateTime && has_thousands.replace(false) == Some(true) {
            let message =
                format!("`{cell}` has a fraction behind its comma, and commas before stood between thousands");
            return Err(Malformed::new(at, message));
        }
        return Ok(time);
    };
    *has_thousands = Some(true);
    let text = joined + &cell[whole.len()..];
    let mut number = Fields::new(text.as_bytes());
    let time = number.time("time", unit).and_then(|time| number.end().map(|()| time));
    time.map_err(|bad| Malformed::new(at, bad.message))
}

/// The device in these places; `joined` keeps a name from several.
#[inline]
fn device<'a>(joined: &'a mut Vec<u8>, line: &'a [u8], places: &[(usize, usize)]) -> Result<&'a [u8], Malformed> {
    match *places {
        [] => Ok(b""),
        [one] => Ok(&line[named(line, one)?]),
        _ => {
            joined.clear();
            for (number, place) in places.iter().enumerate() {
                joined.extend_from_slice(if number == 0 { b"" } else { b"," });
                joined.extend_from_slice(&line[named(line, *place)?]);
            }
            Ok(joined)
        }
    }
}

/// A write's placement; a line that ends before the column has none.
#[inline]
fn placed(line: &[u8], (start, end): (usize, usize)) -> Result<PlacementId, Malformed> {
    placement::parse(line[start..end].trim_ascii()).map_err(|message| Malformed::new(start, message))
}

/// A device column's place: a shorter line belongs to no known device.
#[inline]
fn named(line: &[u8], (start, end): (usize, usize)) -> Result<std::ops::Range<usize>, Malformed> {
    if start > line.len() {
        return Err(Malformed::new(line.len(), "expected a device, found the end of the line".to_owned()));
    }
    Ok(start..end)
}
