use super::*;

/// The model's output in the README of the published simulator (sungkyun123/MiDAS-Simulation): a traffic of 0.702 to the hot group, the
/// valid parts of five groups, and the write amplification that was calculated from them.
#[test]
fn the_published_forecast_follows_from_the_published_valid_parts() {
    let valid = [0.0, 0.560_998, 0.706_775, 0.780_401, 0.838_156, 0.908_237];
    // The traffic is printed with three digits.
    let [most, least] = [0.7015, 0.7025].map(|hot| write_amplification(hot, &valid));
    assert!(least < 2.220_729 && 2.220_729 < most, "{least} to {most}");
}

/// The other README (dgist-datalab/MiDAS), for the prototype: traffic 0.570.
#[test]
fn so_does_the_one_of_the_prototype() {
    let valid = [0.0, 0.734_829, 0.350_166, 0.413_656, 0.734_003, 0.781_421];
    let [most, least] = [0.5695, 0.5705].map(|hot| write_amplification(hot, &valid));
    assert!(least < 1.626_148 && 1.626_148 < most, "{least} to {most}");
}

/// The chain as the matrix of a Markov process, stepped until it stays.
#[test]
fn the_steady_state_is_that_of_the_matrix() {
    let (hot, valid): (f64, [f64; 4]) = (0.4, [0.2, 0.7, 0.6, 0.85]);
    // Places: to be written, the hot group, three groups of the chain.
    let mut at = [1.0, 0.0, 0.0, 0.0, 0.0];
    for _ in 0..20_000 {
        let leaves = [1, 2, 3, 4].map(|group| at[group] * valid[group - 1]);
        let dies: f64 = (1..5).map(|group| at[group] - leaves[group - 1]).sum();
        at = [dies, at[0] * hot, at[0] * (1.0 - hot) + leaves[0], leaves[1], leaves[2] + leaves[3]];
        // The chain has periods, so each step is mixed with the place before.
        let sum: f64 = at.iter().sum();
        at = at.map(|part| part / sum);
    }
    let moves = at[1] * valid[0] + at[3] + at[4];
    assert!((write_amplification(hot, &valid) - (1.0 + moves / at[0])).abs() < 1e-6);
}

/// Writes to kinds of pages, each with its share of the writes and its part of the pages, uniform inside.
fn model(kinds: &[(f64, f64)], op: f64) -> Model {
    let (blocks, steps) = (400.0, 4.0);
    // One block is half empty.
    let valid = (blocks - 0.5) / (1.0 + op);
    let lasts = |step: i32| {
        let time = f64::from(step) / steps;
        kinds.iter().map(|&(share, part)| share * libm::exp(-share / (part * valid) * time)).sum()
    };
    let curve = Curve::new((0..=4 * 4 * 400).map(lasts).collect());
    Model { hot: 0.0, survival: [curve.clone(), curve], steps, pages: f64::INFINITY, blocks, valid, idle: 0.0 }
}

/// One group, uniform writes: `A = 1 / (1 - e^(-(1 + op) / A))`, blocks emptied in turn (Desnoyers 2014).
#[test]
fn one_group_of_uniform_writes_is_the_closed_form() {
    for op in [0.07, 0.25, 1.0] {
        let waf = model(&[(1.0, 1.0)], op).forecast(&[]).unwrap().waf;
        assert!((waf * (1.0 - libm::exp(-(1.0 + op) / waf)) - 1.0).abs() < 1e-3, "{op}: {waf}");
    }
}

/// One group, two kinds of pages: Desnoyers' closed form, `A = 1 + sum r / (e^(r (1 + op) / (f A)) - 1)`.
#[test]
fn one_group_of_two_kinds_is_the_closed_form() {
    for (share, part) in [(0.8, 0.2), (0.9, 0.1), (0.95, 0.05)] {
        for op in [0.07, 0.2, 0.5] {
            let kinds = [(share, part), (1.0 - share, 1.0 - part)];
            let waf = model(&kinds, op).forecast(&[]).unwrap().waf;
            let moves = kinds.map(|(share, part)| share / libm::expm1(share * (1.0 + op) / (part * waf)));
            let expected = 1.0 + moves[0] + moves[1];
            assert!((waf / expected - 1.0).abs() < 0.01, "{share} on {part}, {op}: {waf}, {expected}");
        }
    }
}

/// One group of small blocks with greedy victims, uniform writes: the mean field of Van Houdt, as in docs/validation.md,
/// for 12 and 20 % over-provisioning.
#[test]
fn greedy_victims_in_small_blocks_are_near_the_mean_field() {
    for (pages, op, expected) in [(32.0, 0.12, 4.271), (64.0, 0.12, 4.531), (256.0, 0.12, 4.763), (64.0, 0.2, 3.053)] {
        let model = Model { pages, ..model(&[(1.0, 1.0)], op) };
        let waf = model.forecast(&[]).unwrap().waf;
        assert!((waf / expected - 1.0).abs() < 0.01, "{pages} pages, {op}: {waf} for {expected}");
    }
}

/// Uniform writes: no group gains anything, as all pages live equally long.
#[test]
fn uniform_writes_gain_nothing() {
    let model = model(&[(1.0, 1.0)], 0.2);
    let one = model.forecast(&[]).unwrap();
    let (sizes, best) = model.best(7).unwrap();
    assert!((best.waf / one.waf - 1.0).abs() < 0.01, "{sizes:?} promise {} of {}", best.waf, one.waf);
}

/// Nine of ten writes to a tenth of the pages. Two queues of their own, with the best split of the blocks, are Desnoyers'
/// `r A(hot) + (1 - r) A(cold)`; a chain that has to learn the kinds comes near and not below.
#[test]
fn a_chain_comes_near_two_queues() {
    let (kinds, op) = ([(0.9, 0.1), (0.1, 0.9)], 0.1);
    let model = model(&kinds, op);
    let one = model.forecast(&[]).unwrap();
    let (sizes, best) = model.best(7).unwrap();
    let fifo = |space: f64| {
        let mut waf = 1.0;
        (0..10_000).for_each(|_| waf = 1.0 / (1.0 - libm::exp(-space / waf)));
        waf
    };
    let spare = model.blocks - model.valid;
    let split = |hot: i32| {
        let hot = f64::from(hot) / 100.0 * spare;
        0.9 * fifo(1.0 + hot / (0.1 * model.valid)) + 0.1 * fifo(1.0 + (spare - hot) / (0.9 * model.valid))
    };
    let queues = (1..100).map(split).min_by(f64::total_cmp).unwrap();
    assert!(best.waf > queues && best.waf < (queues + one.waf) / 2.0, "{sizes:?}: {queues} {} {}", best.waf, one.waf);
}
