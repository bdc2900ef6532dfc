//! A disk's parts: sector ranges with their requests' origin.

use nandlab_nand::Origin;

/// Sectors with one origin.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Region {
    /// The first sector.
    pub sector: u64,
    /// How many.
    pub sectors: u64,
    /// Who asks for them.
    pub origin: Origin,
}

/// A disk's regions, without overlaps.
#[derive(Clone, Debug, Default)]
pub struct Regions {
    /// Ascending.
    all: Vec<Region>,
}

impl Regions {
    /// The regions from a table.
    ///
    /// # Errors
    /// Two regions overlap, or one reaches past the last possible sector: a sentence.
    pub fn new(mut all: Vec<Region>) -> Result<Self, String> {
        all.retain(|region| region.sectors > 0);
        all.sort_by_key(|region| region.sector);
        for pair in all.windows(2) {
            if pair[0].sector.saturating_add(pair[0].sectors) > pair[1].sector {
                return Err(format!(
                    "the regions of {} sectors from sector {} on and of {} from {} on overlap",
                    pair[0].sectors, pair[0].sector, pair[1].sectors, pair[1].sector
                ));
            }
        }
        match all.last() {
            Some(last) if last.sector.checked_add(last.sectors).is_none() => {
                Err(format!("no disk has {} sectors from sector {} on", last.sectors, last.sector))
            }
            _ => Ok(Self { all }),
        }
    }

    /// The regions in `text`, a line `sector, sectors, origin` each; empty lines and text behind `#` are skipped.
    ///
    /// # Errors
    /// The bad line: a sentence.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut all = Vec::new();
        for (number, line) in (1..).zip(text.lines()) {
            let line = line.split('#').next().unwrap_or_default().trim();
            if line.is_empty() {
                continue;
            }
            let refuse = || format!("line {number}: expected `sector, sectors, origin`, found `{line}`");
            let mut fields = line.split(',').map(str::trim);
            let mut count = || fields.next().and_then(|field| field.parse().ok()).ok_or_else(refuse);
            let (sector, sectors) = (count()?, count()?);
            let name = fields.next().ok_or_else(refuse)?;
            let origin = Origin::from_name(name).ok_or_else(|| {
                format!("line {number}: `{name}` is no origin; there are {}", Origin::NAMES.join(", "))
            })?;
            if fields.next().is_some() {
                return Err(refuse());
            }
            all.push(Region { sector, sectors, origin });
        }
        Self::new(all)
    }

    /// The origin for `sector`; the host as a whole outside all regions.
    pub fn origin(&self, sector: u64) -> Origin {
        let after = self.all.partition_point(|region| region.sector <= sector);
        let region = after.checked_sub(1).map(|at| self.all[at]);
        region.filter(|region| sector - region.sector < region.sectors).map_or(Origin::HOST, |region| region.origin)
    }

    /// How many sectors, up to `sectors`, from `sector` on have one origin.
    pub fn alike(&self, sector: u64, sectors: u64) -> u64 {
        let after = self.all.partition_point(|region| region.sector <= sector);
        let inside = after.checked_sub(1).map(|at| self.all[at]).filter(|at| sector - at.sector < at.sectors);
        let end = match inside {
            Some(region) => region.sector + region.sectors,
            None => self.all.get(after).map_or(u64::MAX, |next| next.sector),
        };
        sectors.min(end - sector)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sector_has_the_origin_of_its_region() {
        let regions =
            Regions::parse("# ext4\n100, 10, journal\n\n0, 8, superblock # the first\n110, 5, inode\n").unwrap();
        for (sector, origin, alike) in [
            (0, Origin::from_name("superblock").unwrap(), 8),
            (7, Origin::from_name("superblock").unwrap(), 1),
            (8, Origin::HOST, 92),
            (100, Origin::JOURNAL, 10),
            (109, Origin::JOURNAL, 1),
            (110, Origin::from_name("inode").unwrap(), 5),
            (115, Origin::HOST, 1000),
        ] {
            assert_eq!((regions.origin(sector), regions.alike(sector, 1000)), (origin, alike), "sector {sector}");
        }
        assert_eq!((Regions::default().origin(5), Regions::default().alike(5, 9)), (Origin::HOST, 9));
    }

    #[test]
    fn what_is_no_table_is_refused_in_a_sentence() {
        for (text, why) in [
            ("1, 2", "line 1: expected `sector, sectors, origin`, found `1, 2`"),
            ("\n1, x, journal", "line 2: expected"),
            ("1, 2, nobody", "line 1: `nobody` is no origin; there are host, "),
            ("1, 2, journal, 4", "line 1: expected"),
            ("0, 9, journal\n8, 1, inode", "the regions of 9 sectors from sector 0 on and of 1 from 8 on overlap"),
            ("5, 18446744073709551615, inode", "no disk has"),
        ] {
            let error = Regions::parse(text).unwrap_err();
            assert!(error.starts_with(why), "{error}");
        }
    }
}
