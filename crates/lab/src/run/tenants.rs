//! The record's rows of tenants.

use super::above::{AllAbove, Left};
use super::meter::Meter;
use super::session::Run;
use crate::config::Experiment;
use crate::error::LabError;
use crate::record::{rate, us, Record, TenantRecord};
use nandlab_nand::{Origin, Time, SECTOR_BYTES};
use nandlab_workload::tenants::Tenant;

impl Run<'_> {
    /// Each tenant's part since `start`, in the experiment's order.
    pub(super) fn tenants(&self, meter: &Meter, start: Time) -> Option<Vec<TenantRecord>> {
        let (found, tenants) = (meter.tenants.as_ref()?, self.experiment.tenants()?);
        let bytes = |sectors: u64| sectors * u64::from(SECTOR_BYTES);
        let all = bytes(found.counts.values().map(|counts| counts.sectors).sum());
        let row = |(origin, tenant): (Origin, &Tenant)| {
            let counts = found.counts.get(&origin).copied().unwrap_or_default();
            let time = counts.last_end.saturating_sub(start);
            let seconds = time as f64 / 1e9;
            let (latency_us, mean_us) = meter.latency.as_ref().and_then(|latency| latency.of(origin)).unzip();
            let requests_per_s = rate((counts.requests - counts.refused) as f64, seconds);
            let mb_per_s = rate(bytes(counts.sectors) as f64 / 1e6, seconds);
            TenantRecord {
                name: tenant.name.clone(),
                requests: counts.requests,
                bytes: bytes(counts.sectors),
                share: (all > 0).then(|| bytes(counts.sectors) as f64 / all as f64),
                time_us: us(time),
                requests_per_s,
                mb_per_s,
                reserve_met: tenant.reserve.map(|reserve| reserve.met(requests_per_s, mb_per_s)),
                wait_us: (counts.ended > 0).then(|| counts.waited as f64 / counts.ended as f64 / 1000.0),
                mean_us,
                latency_us,
                index: None,
                files: None,
                stopped: None,
            }
        };
        Some(tenants.asking().map(row).collect())
    }

    /// Adds what indexes and file systems of tenants leave to their rows.
    pub(super) fn add_above(&self, record: &mut Record, above: &AllAbove) -> Result<(), LabError> {
        for (at, Left { index, files, stopped }) in above.finish()? {
            let name = self.experiment.tenants().map(|tenants| &tenants.tenant[at].name);
            // One that only loads, since another tenant runs alone, has no row.
            let Some(row) = record.tenants.iter_mut().flatten().find(|row| Some(&row.name) == name) else { continue };
            (row.index, row.files, row.stopped) = (index, files, stopped);
        }
        Ok(())
    }
}

/// Notices about tenants that asked for their reservation and did not get it.
///
/// A closed loop always asks. Other tenants asked for more if a command or more of the reserved rate waited in their queues on
/// average (Little's law).
pub(super) fn reservations_missed(experiment: &Experiment, rows: Option<&[TenantRecord]>) -> Vec<String> {
    const NEARLY: f64 = 0.99;
    let Some(tenants) = experiment.tenants() else { return Vec::new() };
    let told = |((_, tenant), row): ((_, &Tenant), &TenantRecord)| {
        let met = row.reserve_met.filter(|met| *met < NEARLY)?;
        let waits = row.wait_us.is_some_and(|wait| wait / 1e6 * row.requests_per_s / met > 1.0);
        (tenant.always_asks() || waits).then(|| {
            format!(
                "tenant {} got {:.1} % of what is reserved for it: {:.0} requests/s, {:.1} MB/s",
                tenant.name,
                met * 100.0,
                row.requests_per_s,
                row.mb_per_s
            )
        })
    };
    tenants.asking().zip(rows.unwrap_or_default()).filter_map(told).collect()
}
