//! A page's raw bit error rate, and the ECC.
//!
//! ## References
//! The sum of powers, `wear_exponent`, `retention_exponent` and `retention_wear_exponent`: B. S. Kim, J.
//! Choi, S. L. Min, "Design Tradeoffs for SSD Reliability", FAST 2019; so are `rber` and `wear` of
//! experiments/page-read-disturb.toml, 3.90e-10 x 1000^2.05 for `wear`. Errors grow with reads, faster in
//! worn blocks: Y. Cai et al., "Read Disturb Errors in MLC NAND Flash Memory", DSN 2015; that both
//! exponents are 1 is this project's choice. Errors grow with time, faster in worn blocks: Y. Cai et al.,
//! "Data Retention in MLC NAND Flash Memory", HPCA 2015. Many steps of read retry, each a whole read: J.
//! Park et al., "Reducing Solid-State Drive Read Latency by Optimizing Read-Retry", ASPLOS 2021.
//! `retry_factor`: Z. Jiao et al., FAST 2024, with the same sum of powers and a 50-bit ECC in 4 KiB.
//! `retention`, `read_disturb` and `ecc_bits` of the experiment are this project's choices, of no chip.
//! Retention at another temperature is another time at this one, as in the accelerated tests of JEDEC
//! JESD218.

use crate::address::Geometry;
use crate::config_error::ConfigError;
use serde::{Deserialize, Serialize};

/// Raw bit errors against an ECC; a term is off if its rate is 0.
///
/// The rate is a sum of powers, the form in which B. S. Kim, J. Choi and S. L. Min, "Design Tradeoffs for SSD
/// Reliability", FAST 2019, fit measurements of three chips: a base rate of a new page, plus wear, plus time
/// (retention), plus reads (read disturb). The last two grow with wear. P/E cycles count in thousands here,
/// time in days since the program of the page, and reads over the whole block since the first program after its
/// erase. The default exponents of wear and retention come from the fit to their 72-layer TLC chip. The rates
/// depend on the chip, so they have no typical default.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// Earlier P/E cycles on every block when the run starts. Default 0.
    #[serde(default)]
    pub initial_pe_cycles: u32,
    /// Raw bit error rate of a freshly programmed page in a block without wear, errors per bit, 0 to 0.5.
    /// Default 0.
    #[serde(default)]
    pub rber: f64,
    /// Errors per bit added by 1,000 P/E cycles, 0 to 0.5. Default 0.
    #[serde(default)]
    pub wear: f64,
    /// P/E-cycle exponent in the wear term. Default 2.05, as Kim et al. 2019.
    #[serde(default = "wear_exponent")]
    pub wear_exponent: f64,
    /// Errors per bit added by the first day at 1,000 P/E cycles, 0 to 0.5. Default 0.
    #[serde(default)]
    pub retention: f64,
    /// Day exponent in the retention term. Default 0.54, as Kim et al. 2019.
    #[serde(default = "retention_exponent")]
    pub retention_exponent: f64,
    /// P/E-cycle exponent in the retention term. Default 0.14, as Kim et al. 2019.
    #[serde(default = "retention_wear_exponent")]
    pub retention_wear_exponent: f64,
    /// Errors per bit added by the first read of any page in the block at 1,000 P/E cycles, 0 to 0.5. Default
    /// 0.
    #[serde(default)]
    pub read_disturb: f64,
    /// Read exponent in the read-disturb term. Default 1: each read adds the same amount.
    #[serde(default = "one")]
    pub read_disturb_exponent: f64,
    /// P/E-cycle exponent in the read-disturb term. Default 1, this project's choice.
    #[serde(default = "one")]
    pub read_disturb_wear_exponent: f64,
    /// Correctable bits per codeword, from the data sheet.
    pub ecc_bits: u32,
    /// Data bytes per codeword; a page must contain whole codewords only. Default 1024.
    #[serde(default = "codeword_bytes")]
    pub codeword_bytes: u32,
    /// Most retries per page read, 0 to 100. Default 5, this project's choice.
    #[serde(default = "retry_steps")]
    pub retry_steps: u32,
    /// Error share left after each retry, 0 to 1. Default 0.5, as Z. Jiao et al., "The Design and
    /// Implementation of a Capacity-Variant Storage System", FAST 2024.
    #[serde(default = "retry_factor")]
    pub retry_factor: f64,
}

fn wear_exponent() -> f64 {
    2.05
}

fn retention_exponent() -> f64 {
    0.54
}

fn retention_wear_exponent() -> f64 {
    0.14
}

fn one() -> f64 {
    1.0
}

fn codeword_bytes() -> u32 {
    1024
}

fn retry_steps() -> u32 {
    5
}

fn retry_factor() -> f64 {
    0.5
}

/// At this rate a bit carries no information.
const MAX_RBER: f64 = 0.5;
const MAX_EXPONENT: f64 = 10.0;
const MAX_RETRY_STEPS: u32 = 100;

/// A block's error rates at its P/E cycles, errors per bit.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rates {
    fresh: f64,
    per_day: f64,
    per_read: f64,
}

impl Rates {
    /// Rate right after the program.
    pub(super) fn of_wear(&self) -> f64 {
        self.fresh.min(MAX_RBER)
    }

    pub(super) fn rber(&self, config: &Config, days: f64, reads: u64) -> f64 {
        let retention = grown(self.per_day, days, config.retention_exponent);
        let disturb = grown(self.per_read, reads as f64, config.read_disturb_exponent);
        (self.fresh + retention + disturb).min(MAX_RBER)
    }
}

/// `rate` x `amount`^`exponent`; 0 if the rate or the amount is 0. The power function comes from a library,
/// because platform functions round differently.
fn grown(rate: f64, amount: f64, exponent: f64) -> f64 {
    if rate == 0.0 || amount == 0.0 {
        return 0.0;
    }
    if exponent == 1.0 {
        return rate * amount;
    }
    rate * libm::pow(amount, exponent)
}

impl Config {
    /// An ECC with this limit per codeword (1,024 bytes), and no errors.
    pub fn new(ecc_bits: u32) -> Self {
        Self {
            initial_pe_cycles: 0,
            rber: 0.0,
            wear: 0.0,
            wear_exponent: wear_exponent(),
            retention: 0.0,
            retention_exponent: retention_exponent(),
            retention_wear_exponent: retention_wear_exponent(),
            read_disturb: 0.0,
            read_disturb_exponent: one(),
            read_disturb_wear_exponent: one(),
            ecc_bits,
            codeword_bytes: codeword_bytes(),
            retry_steps: retry_steps(),
            retry_factor: retry_factor(),
        }
    }

    /// Checks every value against its range and the device.
    ///
    /// # Errors
    /// The key, the given value and the allowed range.
    pub fn check(&self, geometry: &Geometry) -> Result<(), ConfigError> {
        let refuse = |key, value: String, allowed: String| Err(ConfigError { key, value, allowed });
        for (key, value, most) in [
            ("rber", self.rber, MAX_RBER),
            ("wear", self.wear, MAX_RBER),
            ("wear_exponent", self.wear_exponent, MAX_EXPONENT),
            ("retention", self.retention, MAX_RBER),
            ("retention_exponent", self.retention_exponent, MAX_EXPONENT),
            ("retention_wear_exponent", self.retention_wear_exponent, MAX_EXPONENT),
            ("read_disturb", self.read_disturb, MAX_RBER),
            ("read_disturb_exponent", self.read_disturb_exponent, MAX_EXPONENT),
            ("read_disturb_wear_exponent", self.read_disturb_wear_exponent, MAX_EXPONENT),
            ("retry_factor", self.retry_factor, 1.0),
        ] {
            if !(0.0..=most).contains(&value) {
                return refuse(key, value.to_string(), format!("it lies between 0 and {most}"));
            }
        }
        if self.retry_steps > MAX_RETRY_STEPS {
            let allowed = format!("a page is read again at most {MAX_RETRY_STEPS} times");
            return refuse("retry_steps", self.retry_steps.to_string(), allowed);
        }
        let page_bytes = geometry.page_bytes();
        if self.codeword_bytes == 0 || page_bytes % self.codeword_bytes != 0 {
            let allowed = format!("a page of {page_bytes} B is a whole number of codewords");
            return refuse("codeword_bytes", self.codeword_bytes.to_string(), allowed);
        }
        if !(1..self.codeword_bits()).contains(&self.ecc_bits.into()) {
            let allowed = format!("it is at least 1 and less than the {} bits of a codeword", self.codeword_bits());
            return refuse("ecc_bits", self.ecc_bits.to_string(), allowed);
        }
        Ok(())
    }

    fn codeword_bits(&self) -> u64 {
        8 * u64::from(self.codeword_bytes)
    }

    /// Raw bit error rate of a page programmed `days` ago, in a block with this many P/E cycles and reads since
    /// its erase.
    pub fn rber_at(&self, pe_cycles: u32, days: f64, reads: u64) -> f64 {
        self.rates(pe_cycles).rber(self, days, reads)
    }

    pub(super) fn rates(&self, pe_cycles: u32) -> Rates {
        let thousands = f64::from(pe_cycles) / 1000.0;
        let scaled = |rate: f64, exponent: f64| if rate == 0.0 { 0.0 } else { rate * libm::pow(thousands, exponent) };
        Rates {
            fresh: self.rber + scaled(self.wear, self.wear_exponent),
            per_day: scaled(self.retention, self.retention_wear_exponent),
            per_read: scaled(self.read_disturb, self.read_disturb_wear_exponent),
        }
    }

    /// Expected wrong bits in a codeword at a raw bit error rate.
    pub fn errors(&self, rber: f64) -> f64 {
        rber * self.codeword_bits() as f64
    }

    /// Errors in per cent of the ECC limit, rounded down.
    pub(super) fn percent(&self, errors: f64) -> u32 {
        (100.0 * errors / f64::from(self.ecc_bits)) as u32
    }

    /// Retries until the ECC can correct the rest of this many errors; `None` if the last retry still leaves
    /// too many.
    pub fn retries(&self, errors: f64) -> Option<u32> {
        self.retries_against(errors, self.ecc_bits)
    }

    /// The same for a code with this limit.
    pub(super) fn retries_against(&self, errors: f64, ecc_bits: u32) -> Option<u32> {
        let mut left = errors;
        (0..=self.retry_steps).find(|_| {
            let corrects = left <= f64::from(ecc_bits);
            left *= self.retry_factor;
            corrects
        })
    }
}
