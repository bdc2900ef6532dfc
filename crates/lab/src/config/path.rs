//! The way between host and FTL, according to the device's controller and link.

use super::tree::KeyError;
use super::tree::Refuse;
use super::{Device, Experiment, Model};
use nandlab_block::{LinkScaling, PathTimes};
use nandlab_nand::controller::{self, Link};
use nandlab_nand::profile::{PageCopy, Profile};
use nandlab_nand::Time;
use nandlab_workload::Kind;

/// Data over two 4 KiB memory pages needs an address list (NVMe Base Specification, PRP list).
const BYTES_WITHOUT_LIST: u64 = 8192;

impl Device {
    /// Times between host and FTL; none on a device without time.
    pub(crate) fn path_times(&self) -> PathTimes {
        if self.model == Model::Counting {
            return PathTimes::default();
        }
        let controller = self.profile.controller.unwrap_or_default();
        let link = self.profile.link.unwrap_or_default();
        PathTimes {
            latency: ns(controller.latency_us),
            write_latency: ns(controller.write_latency_us.unwrap_or(controller.latency_us)),
            read_command: ns(controller.read_command_us),
            write_command: ns(controller.write_command_us),
            append_command: ns(controller.append_command_us.unwrap_or(controller.write_command_us)),
            read_list: ns(controller.read_list_us),
            write_list: ns(controller.write_list_us),
            read_list_over: limit(controller.read_list_us, controller.read_list_over_bytes),
            write_list_over: limit(controller.write_list_us, controller.write_list_over_bytes),
            link_read: ns(link.read_command_us),
            link_write: ns(link.write_command_us),
            read_ns_per_byte: ns_per_byte(link.read_mb_s),
            write_ns_per_byte: ns_per_byte(link.write_mb_s),
            write_buffer: controller.write_buffer_bytes,
            is_protected: controller.write_buffer_protected,
            packed_writes: controller.packed_writes.filter(|&writes| writes > 1).unwrap_or(0),
            scaling: link.scaling.map(|scaling| scaled(&link, &scaling)),
            answers_reads: controller.write_buffer_bytes > 0 && controller.write_buffer_reads.unwrap_or(true),
        }
    }
}

fn scaled(link: &Link, scaling: &controller::LinkScaling) -> LinkScaling {
    let rates = |slow: Option<f64>, fast: f64| [slow.unwrap_or(fast), fast].map(ns_per_byte);
    LinkScaling {
        period: ns(scaling.period_us),
        up_share: scaling.up_share,
        down_share: scaling.down_share,
        read_ns_per_byte: rates(scaling.slow_read_mb_s, link.read_mb_s),
        write_ns_per_byte: rates(scaling.slow_write_mb_s, link.write_mb_s),
    }
}

/// A limit without a time has no effect, so it makes no path.
fn limit(list_us: f64, over_bytes: Option<u64>) -> u64 {
    if list_us > 0.0 {
        over_bytes.unwrap_or(BYTES_WITHOUT_LIST)
    } else {
        0
    }
}

fn ns(us: f64) -> Time {
    (us * 1000.0).round() as Time
}

fn ns_per_byte(mb_s: f64) -> f64 {
    if mb_s > 0.0 {
        1000.0 / mb_s
    } else {
        0.0
    }
}

impl Experiment {
    /// Refuses times of the device that contradict each other, or would have no effect.
    pub(super) fn check_timing(&self, refuse: &Refuse<'_>) -> Result<(), KeyError> {
        let Profile { timing, rules, .. } = &self.device.profile;
        let controller = self.device.profile.controller.unwrap_or_default();
        if controller.write_buffer_protected && controller.write_buffer_bytes == 0 {
            let why = "there is no write buffer to protect; set device.controller.write_buffer_bytes";
            return refuse("device.controller.write_buffer_protected", &true, why);
        }
        if controller.write_buffer_reads == Some(true) && controller.write_buffer_bytes == 0 {
            let why = "there is no write buffer to read from; set device.controller.write_buffer_bytes";
            return refuse("device.controller.write_buffer_reads", &true, why);
        }
        self.check_packed_writes(refuse)?;
        self.check_scaling(refuse)?;
        if timing.program_pages > 1 && timing.copy != PageCopy::External {
            let why = "a page that moves inside the die cannot wait for others; set device.timing.copy = \"external\"";
            return refuse("device.timing.program_pages", &timing.program_pages, why);
        }
        if rules.pair_distance > 0 && rules.bits_per_cell != 2 {
            let why = "two pages share their cells on a chip of two bits a cell; set device.rules.bits_per_cell = 2";
            return refuse("device.rules.pair_distance", &rules.pair_distance, why);
        }
        if let Some(types) = timing.page_types {
            let bits = usize::from(rules.bits_per_cell);
            let programs = types.program_us.map_or(bits, |times| times.us().len());
            if types.read_us.us().len() != bits || programs != bits {
                let why = format!("a cell of device.rules.bits_per_cell = {bits} has as many types of pages");
                return refuse("device.timing.page_types", &format!("{} times", types.read_us.us().len()), &why);
            }
        }
        Ok(())
    }

    fn check_packed_writes(&self, refuse: &Refuse<'_>) -> Result<(), KeyError> {
        let controller = self.device.profile.controller.unwrap_or_default();
        let Some(writes @ 2..) = controller.packed_writes else { return Ok(()) };
        let refuse = |why: &str| refuse("device.controller.packed_writes", &writes, why);
        if controller.write_buffer_bytes > 0 {
            return refuse("a write buffer answers each write before its pack ends; leave write_buffer_bytes out");
        }
        Ok(())
    }

    fn check_scaling(&self, refuse: &Refuse<'_>) -> Result<(), KeyError> {
        let link = self.device.profile.link.unwrap_or_default();
        let Some(scaling) = link.scaling else { return Ok(()) };
        let refuse = |key: &str, given: f64, why: &str| refuse(&format!("device.link.scaling.{key}"), &given, why);
        if scaling.down_share > scaling.up_share {
            let why =
                format!("the link would be fast and slow after the same period; up_share is {}", scaling.up_share);
            return refuse("down_share", scaling.down_share, &why);
        }
        for (key, slow, fast) in [
            ("read_mb_s", scaling.slow_read_mb_s, link.read_mb_s),
            ("write_mb_s", scaling.slow_write_mb_s, link.write_mb_s),
        ] {
            if let Some(slow) = slow.filter(|&slow| fast > 0.0 && slow > fast) {
                let why = format!("the slow link would be faster than device.link.{key} = {fast}");
                return refuse(&format!("slow_{key}"), slow, &why);
            }
        }
        Ok(())
    }

    /// Whether a request takes time between host and FTL.
    pub(crate) fn has_path(&self) -> bool {
        let firmware = self.device.model != Model::Counting && self.host.firmware_ns() + self.host.lookup_ns() > 0;
        firmware || self.device.path_times() != PathTimes::default()
    }

    /// A notice if the device states times that these requests do not take.
    pub(super) fn unused_path(&self) -> Option<String> {
        let has_path = self.device.path_times() != PathTimes::default();
        (has_path && !matches!(self.workload.kind(), Kind::Requests(_))).then(|| {
            "the times of [device.controller] and [device.link] have no effect: they are added to requests that come by \
             themselves, and a file system or an index makes these"
                .to_owned()
        })
    }
}
