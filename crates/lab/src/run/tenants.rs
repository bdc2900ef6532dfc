//! The record's rows of tenants.

use super::above::{AllAbove, Left};
use super::meter::Meter;
use super::session::Run;
use crate::error::LabError;
use crate::record::{rate, us, Record, TenantRecord};
use nandlab_nand::{Origin, Time, SECTOR_BYTES};

impl Run<'_> {
    /// Each tenant's part since `start`, in the experiment's order.
    pub(super) fn tenants(&self, meter: &Meter, start: Time) -> Option<Vec<TenantRecord>> {
        let (found, tenants) = (meter.tenants.as_ref()?, self.experiment.tenants()?);
        let bytes = |sectors: u64| sectors * u64::from(SECTOR_BYTES);
        let all = bytes(found.counts.values().map(|counts| counts.sectors).sum());
        let row = |(origin, name): (Origin, &String)| {
            let counts = found.counts.get(&origin).copied().unwrap_or_default();
            let time = counts.last_end.saturating_sub(start);
            let seconds = time as f64 / 1e9;
            let (latency_us, mean_us) = meter.latency.as_ref().and_then(|latency| latency.of(origin)).unzip();
            TenantRecord {
                name: name.clone(),
                requests: counts.requests,
                bytes: bytes(counts.sectors),
                share: (all > 0).then(|| bytes(counts.sectors) as f64 / all as f64),
                time_us: us(time),
                requests_per_s: rate((counts.requests - counts.refused) as f64, seconds),
                mb_per_s: rate(bytes(counts.sectors) as f64 / 1e6, seconds),
                wait_us: (counts.ended > 0).then(|| counts.waited as f64 / counts.ended as f64 / 1000.0),
                mean_us,
                latency_us,
                index: None,
                files: None,
                stopped: None,
            }
        };
        Some(tenants.asking().map(|(origin, tenant)| row((origin, &tenant.name))).collect())
    }

    /// Adds what indexes and file systems of tenants leave to their rows.
    pub(super) fn add_above(&self, record: &mut Record, above: &AllAbove) -> Result<(), LabError> {
        for (at, Left { index, files, stopped }) in above.finish()? {
            let name = self.experiment.tenants().map(|tenants| &tenants.tenant[at].name);
            let row = record.tenants.iter_mut().flatten().find(|row| Some(&row.name) == name);
            let row = row.expect("each tenant that asks has a row");
            (row.index, row.files, row.stopped) = (index, files, stopped);
        }
        Ok(())
    }
}
