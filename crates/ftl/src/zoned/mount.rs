//! The host-side page map after a power cut.

use super::valid::Valid;
use super::{Config, Zoned};
use crate::parts::blocks::scan::{scan, Scans};
use crate::parts::newest::Newest;
use crate::parts::noted_map::NotedMap;
use crate::parts::trim_note;
use crate::zones::{State, Zones};
use crate::{error, Events, FtlError};
use nandlab_nand::{scoped, Cause, Geometry, Kind, Nand};

pub(super) fn mount<N: Nand>(nand: &mut N, logical_pages: u32, config: &Config) -> Result<Zoned, FtlError> {
    let geometry = *nand.geometry();
    let layout = config.layout(&geometry)?;
    let options =
        format!("ftl.zoned with reserve_zones = {} and zones of {} pages", config.reserve_zones, layout.capacity);
    let most = config.max_logical_pages(&geometry)?;
    error::refuse_capacity(logical_pages, most, &options, &geometry, "a smaller reserve, or smaller zones")?;
    // Everything a mount finds must stay: without a cut, programs may still be running.
    nand.ctx().fence();
    let mut scans = scan(nand)?;
    refuse_lean(&geometry, &scans)?;
    let (zones, torn) = Zones::found(&geometry, layout, &mut scans, &[])?;
    refuse_larger(&geometry, logical_pages, &scans)?;
    let newest = Newest::of(&geometry, logical_pages, &scans);
    let map = NotedMap::found(nand, &geometry, newest, true)?;
    let mut zoned = Zoned {
        valid: Valid::none(&geometry, layout.zones),
        host: vec![None; (geometry.dies() / layout.dies) as usize],
        moved: None,
        turn: 0,
        closed_at: vec![0; layout.zones as usize],
        lost: Vec::new(),
        events: Events::default(),
        config: config.clone(),
        zones,
        map,
    };
    zoned.map.found_valid().for_each(|page| zoned.valid.add(page, &zoned.zones));
    zoned.resume();
    zoned.zones.repair(nand, &torn, &scans)?;
    zoned.follow();
    zoned.settle(nand)?;
    scoped(nand, Cause::Mount, |nand| zoned.regain_reserve(nand))?;
    zoned.refuse_worn_out()?;
    Ok(zoned)
}

impl Zoned {
    /// Fills zones further that are neither empty nor full: those of the host first.
    fn resume(&mut self) {
        let groups = self.host.len() as u32;
        for zone in (0..self.zones.count()).filter(|&zone| self.zones.state(zone) == State::Closed) {
            let host = &mut self.host[(zone % groups) as usize];
            if host.is_none() {
                *host = Some(zone);
            } else if self.moved.is_none() {
                self.moved = Some(zone);
            }
        }
    }
}

fn refuse_lean(geometry: &Geometry, scans: &Scans) -> Result<(), FtlError> {
    let pages = scans.iter().flatten().flat_map(|scan| &scan.pages);
    match pages.map(|page| page.oob.seq.0).min() {
        Some(0) => Err(FtlError::Config(format!(
            "a page of the {} carries no sequence number: a lean device that was written cannot be mounted again",
            geometry.pages()
        ))),
        _ => Ok(()),
    }
}

/// Refuses pages beyond the exported ones.
fn refuse_larger(geometry: &Geometry, logical_pages: u32, scans: &Scans) -> Result<(), FtlError> {
    for page in scans.iter().flatten().flat_map(|scan| &scan.pages) {
        let limit = match page.oob.kind {
            Kind::Data | Kind::Lost => logical_pages,
            Kind::TrimNote => trim_note::segments(geometry, logical_pages),
            // It stands for a page that could not be read, nor its spare area.
            Kind::Deleted => continue,
            kind => {
                return Err(FtlError::Config(format!(
                    "a page is of kind {kind:?}: the device was used by another FTL than zoned"
                )))
            }
        };
        if page.oob.lpn.0 >= limit {
            return Err(FtlError::Config(format!(
                "a page holds logical page {} and {logical_pages} logical pages are exported: the device was used with a larger \
                 capacity",
                page.oob.lpn
            )));
        }
    }
    Ok(())
}
