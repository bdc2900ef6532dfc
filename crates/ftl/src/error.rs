use crate::parts::shares::{Quota, FILLED};
use nandlab_block::ZoneFault;
use nandlab_nand::{Geometry, NandError};
use std::ops::RangeInclusive;

/// Why an FTL cannot go on.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum FtlError {
    /// The options do not fit the device; the sentence names the key, the value and the allowed range.
    #[error("{0}")]
    Config(String),
    /// Bad blocks have used up the spare ones; data can still be read.
    #[error("{} and at least {needed} are needed to take a write", good_blocks(*good, *weak_dies))]
    WornOut {
        /// Good blocks, without weak dies.
        good: u32,
        /// Blocks needed for the exported pages, on the same dies.
        needed: u32,
        /// Dies with too few good blocks to take pages, while the others go on without them.
        weak_dies: u32,
    },
    /// No erased page is left, and the options free none; the sentence names them.
    #[error("{0}")]
    Full(String),
    /// A zone takes no such request now; nothing has changed.
    #[error("zone {zone}: {fault}")]
    Zone {
        /// The zone's number.
        zone: u32,
        /// Why not.
        fault: ZoneFault,
    },
    /// A flash error that the FTL cannot correct.
    #[error(transparent)]
    Nand(#[from] NandError),
}

fn good_blocks(good: u32, weak_dies: u32) -> String {
    let (s, are) = if good == 1 { ("", "is") } else { ("s", "are") };
    match weak_dies {
        0 => format!("{good} good block{s} {are} left"),
        1 => format!("1 die has too few good blocks to take pages, {good} {are} left on the others,"),
        _ => format!("{weak_dies} dies have too few good blocks to take pages, {good} {are} left on the others,"),
    }
}

/// Refuses an option out of its range.
pub(crate) fn in_range(key: &str, given: u32, range: RangeInclusive<u32>) -> Result<(), FtlError> {
    let (least, most) = (range.start(), range.end());
    if range.contains(&given) {
        return Ok(());
    }
    let upto = if *most == u32::MAX { String::new() } else { format!(" and at most {most}") };
    Err(FtlError::Config(format!("{key} = {given}: it is at least {least}{upto}")))
}

/// `1 block`, `2 blocks`.
pub(crate) fn blocks(count: u32) -> String {
    format!("{count} block{}", if count == 1 { "" } else { "s" })
}

/// `1 sector`, `2 sectors`.
pub(crate) fn sectors(count: u32) -> String {
    format!("{count} sector{}", if count == 1 { "" } else { "s" })
}

/// The remedy for a reserve that is too large: `most` works here; empty if no reserve does.
pub(crate) fn at_most(key: &str, most: u32) -> String {
    match most {
        0 => String::new(),
        _ => format!("; a device of this size takes {key} = {most} at most"),
    }
}

/// Refuses more logical pages than the FTL can export. `options` names the FTL with its relevant options, `smaller` the
/// ones to reduce.
pub(crate) fn refuse_capacity(
    logical_pages: u32,
    most: u32,
    options: &str,
    geometry: &Geometry,
    smaller: &str,
) -> Result<(), FtlError> {
    if logical_pages <= most {
        return Ok(());
    }
    Err(FtlError::Config(format!(
        "{logical_pages} logical pages are more than {options} can export on this device ({most} of {} pages); take a smaller \
         capacity, a larger device or {smaller}",
        geometry.pages()
    )))
}

/// Returns `most`, a page-mapped FTL's logical pages, unless the reserve leaves none. `own` are the FTL's own blocks
/// with their use.
pub(crate) fn refuse_reserve(
    ftl: &str,
    reserve: u32,
    geometry: &Geometry,
    own: Option<(Quota, &str)>,
    most: u32,
) -> Result<u32, FtlError> {
    if reserve == 0 {
        return Err(FtlError::Config(format!(
            "ftl.{ftl}.reserve_blocks = 0 would deadlock: relocation needs at least 1 free block"
        )));
    }
    if most > 0 {
        return Ok(most);
    }
    let dies = geometry.dies();
    let (has, balance, needs_balance) = if dies == 1 {
        ("this device has", 0, "")
    } else {
        ("a die of this device has", 1, ", one by which dies may differ")
    };
    let own_blocks = own.map_or(0, |(own, _)| own.shared.div_ceil(dies).saturating_add(own.each));
    let others = FILLED.saturating_add(own_blocks).saturating_add(balance + 1);
    let own = own.map(|(_, what)| format!(", {own_blocks} {what}")).unwrap_or_default();
    Err(FtlError::Config(format!(
        "ftl.{ftl}.reserve_blocks = {reserve} would deadlock: {has} {}, and the reserve, {FILLED} that are being \
         filled{own}{needs_balance} and one of data need {}{}",
        blocks(geometry.blocks_per_die()),
        reserve.saturating_add(others),
        at_most(&format!("ftl.{ftl}.reserve_blocks"), geometry.blocks_per_die().saturating_sub(others)),
    )))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_is_no_plural() {
        let worn_out = |good, needed| FtlError::WornOut { good, needed, weak_dies: 0 }.to_string();
        assert_eq!(worn_out(1, 4), "1 good block is left and at least 4 are needed to take a write");
        assert_eq!(worn_out(0, 1), "0 good blocks are left and at least 1 are needed to take a write");
        let on_others = |good, weak_dies| FtlError::WornOut { good, needed: 9, weak_dies }.to_string();
        let end = "left on the others, and at least 9 are needed to take a write";
        assert_eq!(on_others(1, 1), format!("1 die has too few good blocks to take pages, 1 is {end}"));
        assert_eq!(on_others(8, 2), format!("2 dies have too few good blocks to take pages, 8 are {end}"));
        assert_eq!([blocks(0), blocks(1), blocks(2)], ["0 blocks", "1 block", "2 blocks"]);
        assert_eq!([sectors(1), sectors(64)], ["1 sector", "64 sectors"]);
    }
}
