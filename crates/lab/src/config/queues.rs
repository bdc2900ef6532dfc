//! Checks submission queues and tenants.

use super::tree::KeyError;
use super::tree::Refuse;
use super::{Arrival, Experiment, Host, Model};
use nandlab_block::{Arbitration, Queues};
use nandlab_workload::tenants;
use nandlab_workload::WorkloadConfig;

impl Host {
    /// How the controller takes commands from submission queues.
    pub(crate) fn queues(&self) -> Queues {
        self.queues.unwrap_or_default()
    }
}

impl Experiment {
    /// The tenants, if the workload has some.
    pub(crate) fn tenants(&self) -> Option<&tenants::Config> {
        match &self.workload {
            WorkloadConfig::Tenants(tenants) => Some(tenants),
            _ => None,
        }
    }

    /// Whether a tenant has an index or a file system.
    pub(crate) fn has_above(&self) -> bool {
        self.tenants().is_some_and(|tenants| tenants.tenant.iter().any(tenants::Tenant::is_above))
    }

    /// Weights choose among waiting commands, and without a bound none waits.
    pub(super) fn unused_weights(&self) -> Option<String> {
        let queues = self.host.queues.filter(|_| self.tenants().is_some())?;
        let is_idle = matches!(queues.arbitration, Arbitration::Weighted(_)) && queues.commands.is_none();
        is_idle.then(|| {
            "host.queues.arbitration.weighted has no effect without host.queues.commands: the controller takes each command as \
             it comes, so none waits for its turn"
                .to_owned()
        })
    }

    /// Checks the queues, and what tenants need.
    pub(super) fn check_queues(&self, refuse: &Refuse<'_>) -> Result<(), KeyError> {
        let Some(tenants) = self.tenants() else {
            return match &self.host.queues {
                Some(_) => {
                    refuse("host.queues", &"{ ... }", "only tenants have submission queues: see workload.tenants")
                }
                None => Ok(()),
            };
        };
        if let Err((key, given, why)) = self.host.queues().check() {
            return refuse(&format!("host.queues.{key}"), &given, why);
        }
        if let Some(at) = tenants.tenant.iter().position(|tenant| tenant.reserve.is_some()) {
            if self.host.queues().commands.is_none() {
                let key = format!("workload.tenants.tenant[{at}].reserve");
                let why =
                    "it needs host.queues.commands: without a bound the controller takes each command as it comes, \
                           and none can go before another";
                return refuse(&key, &"{ ... }", why);
            }
        }
        if self.device.model == Model::Counting {
            let why = "tenants compete for time, and a device that only counts has none; leave it out";
            return refuse("device.model", &"\"counting\"", why);
        }
        if self.host.explain_longest {
            let why = "a request's wait in a submission queue is not known to the device; leave it out";
            return refuse("host.explain_longest", &true, why);
        }
        if self.host.arrival == Arrival::Recorded {
            let at = tenants.tenant.first().map_or("uniform", |tenant| tenant.workload.name());
            let why =
                format!("leave it out; a tenant's requests come at their own times with workload.{at}.requests_per_s");
            return refuse("host.arrival", &"\"recorded\"", &why);
        }
        if self.host.queue_depth != 1 {
            return refuse(
                "host.queue_depth",
                &self.host.queue_depth,
                "each tenant has its own: set queue_depth there",
            );
        }
        if self.host.think_time_us > 0.0 {
            let why = "a tenant's commands come at once or at their own times; leave it out";
            return refuse("host.think_time_us", &self.host.think_time_us, why);
        }
        Ok(())
    }
}
