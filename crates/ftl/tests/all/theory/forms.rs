//! Closed forms of write amplification for uniform random one-page writes and infinitely many blocks.
//!
//! `op` is over-provisioning: physical pages available for data divided by logical pages, less one; `b` is the pages
//! per block.

/// Greedy: the mean field for blocks with `b` pages (Van Houdt's d-choices in the limit d to infinity, "Performance of
/// garbage collection algorithms for flash-based solid state drives with hot/cold data", Performance Evaluation 70,
/// 2013).
pub fn greedy(b: u32, op: f64) -> f64 {
    let rho = 1.0 / (1.0 + op);
    let harmonic = |n: u32| (1..=n).map(|i| 1.0 / f64::from(i)).sum::<f64>();
    let (b_pages, of_b) = (f64::from(b), harmonic(b));
    let mut of_m = 0.0;
    for m in 1..b {
        let m_pages = f64::from(m);
        of_m += 1.0 / m_pages;
        let f = (rho * b_pages * (of_b - of_m) - (b_pages - m_pages)) / (1.0 - rho * b_pages / m_pages);
        if (0.0..1.0).contains(&f) {
            return b_pages / (b_pages - m_pages + f);
        }
    }
    panic!("no solution for b = {b}, OP = {op}");
}

/// Greedy with one-sector writes: programmed sectors per written sector. `pages` pages per block gather `gathered`
/// sectors each, with a list in place of one more. When a victim is chosen, `blocks` blocks hold `valid` sectors.
///
/// A victim's survivors end in a partly filled page. It lacks (`gathered` - 1) / 2 sectors in the mean, so a block
/// takes that many fewer. And sectors written behind the survivors are half a block younger in the mean when their
/// block is a victim. With so few blocks this shows: they had 1 / (2 x `blocks` x A) less time to become invalid.
pub fn gathered(blocks: u32, pages: u32, gathered: u32, valid: f64) -> f64 {
    let block = pages * gathered - (gathered - 1) / 2;
    let a = f64::from(blocks) * f64::from(block) / valid;
    let mut waf = greedy(block, a - 1.0);
    for _ in 0..4 {
        waf = greedy(block, a * (1.0 - 1.0 / (2.0 * f64::from(blocks) * waf)) - 1.0);
    }
    waf * f64::from(pages * (gathered + 1)) / f64::from(block)
}

/// FIFO for any `b`, and greedy for infinitely large blocks: a / (a + W(-a e^-a)) with a = 1 + OP and Lambert's W
/// (Xiang & Kurkoski, "An improved analytic expression for write amplification in NAND flash", ICNC 2012; Desnoyers,
/// "Analytic models of SSD write performance", ACM Transactions on Storage 10, 2014).
pub fn fifo(op: f64) -> f64 {
    let a = 1.0 + op;
    // y = -W below 1 solves y e^-y = a e^-a.
    let y = root(0.0, 1.0, |y| y * (-y).exp() - a * (-a).exp());
    a / (a - y)
}

/// d choices, with replacement (Van Houdt, "A mean field model for a class of garbage collection algorithms in
/// flash-based solid state drives", SIGMETRICS 2013). A victim has `h` invalid pages. The share of blocks with i valid
/// pages is pi_i = rho b (1 - (Q_(i+1) + pi_i)^d) / (h i), with Q_i for at least i; and h = b - sum of Q_i^d. One
/// choice is random: 1 / (1 - rho).
pub fn d_choices(b: u32, op: f64, d: u32) -> f64 {
    let (rho, pages) = (1.0 / (1.0 + op), f64::from(b));
    let power = |share: f64| share.powi(d as i32);
    let invalid = |h: f64| {
        let (mut at_least, mut sum) = (0.0, 0.0);
        for i in (1..=b).rev() {
            let flow = rho * pages / (h * f64::from(i));
            let share = root(0.0, 1.0 - at_least, |share| share - flow * (1.0 - power(at_least + share)));
            at_least += share;
            sum += power(at_least);
        }
        pages - sum
    };
    pages / root(1e-6 * pages, pages, |h| h - invalid(h))
}

/// FIFO with hot and cold pages in the same blocks: a share `r` of the writes goes to a share `f` of the pages, each
/// part uniform (Desnoyers 2014).
pub fn fifo_mixed(op: f64, r: f64, f: f64) -> f64 {
    let a = 1.0 + op;
    let part = |writes: f64, pages: f64, waf: f64| writes / (1.0 - (-a * writes / (waf * pages)).exp());
    root(1.0 + 1e-9, 1e3, |waf| waf - part(r, f, waf) - part(1.0 - r, 1.0 - f, waf))
}

/// The equivalent over-provisioning of a device with trims: a request trims a random mapped page with probability `q`,
/// else writes a random one. A share (1 - 2 q) / (1 - q) stays mapped (Frankie et al., "Analysis of trim commands on
/// overprovisioning and write amplification in solid state drives", arXiv:1208.1794, 2012).
pub fn op_of_trims(op: f64, q: f64) -> f64 {
    (1.0 + op) * (1.0 - q) / (1.0 - 2.0 * q) - 1.0
}

/// The root at which `f` changes from negative to positive.
fn root(mut low: f64, mut high: f64, f: impl Fn(f64) -> f64) -> f64 {
    for _ in 0..100 {
        let middle = (low + high) / 2.0;
        if f(middle) < 0.0 {
            low = middle;
        } else {
            high = middle;
        }
    }
    (low + high) / 2.0
}
