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

/// With one kind of pages the model is `A = 1 / (1 - e^(-space / A))`, blocks emptied in turn (Desnoyers 2014).
#[test]
fn one_kind_of_pages_is_the_closed_form() {
    for space in [1.07_f64, 1.25, 2.0] {
        for part in [0.2, 0.5] {
            let waf = two_kinds(space, part, part);
            assert!((waf * (1.0 - libm::exp(-space / waf)) - 1.0).abs() < 1e-6, "space {space}: {waf}");
        }
    }
    assert!(two_kinds(1.1, 0.9, 0.1) < two_kinds(1.1, 0.5, 0.5), "two kinds in one queue still gain from each other");
}

/// Uniform writes: no group gains anything, as all pages live equally long.
fn uniform(space: f64) -> Model {
    let (blocks, steps) = (400.0, 4.0);
    let valid = blocks / space;
    let survival = |of: f64| Curve::new((0..=16 * 400).map(|step| libm::exp(-f64::from(step) / steps / of)).collect());
    Model { hot: 0.0, survival: [survival(valid), survival(valid)], steps, blocks, valid }
}

#[test]
fn uniform_writes_get_one_group() {
    let model = uniform(1.2);
    let expected = two_kinds(399.5 / model.valid, 0.5, 0.5);
    let forecast = model.forecast(&[]).unwrap();
    assert!((forecast.waf / expected - 1.0).abs() < 0.01, "{} for {expected}", forecast.waf);
    let (sizes, best) = model.best(7).unwrap();
    assert!(best.waf > 0.97 * expected, "{sizes:?} promise {} of {expected}", best.waf);
}

/// Half of the writes to a tenth of the pages, in the hot group or not: a chain promises less than one group.
#[test]
fn two_kinds_of_pages_gain_from_a_chain() {
    let (blocks, steps, valid) = (400.0, 4.0, 360.0);
    let (rare, often) = (0.5 / (0.9 * valid), 0.5 / (0.1 * valid));
    let survival = |step: i32| {
        let time = f64::from(step) / steps;
        0.5 * libm::exp(-rare * time) + 0.5 * libm::exp(-often * time)
    };
    let curve = Curve::new((0..=16 * 400).map(survival).collect());
    let model = Model { hot: 0.0, survival: [curve.clone(), curve], steps, blocks, valid };
    let one = model.forecast(&[]).unwrap();
    let expected = two_kinds((blocks - 0.5) / valid, 0.5, 0.1);
    assert!((one.waf / expected - 1.0).abs() < 0.25, "{} for {expected}", one.waf);
    let (sizes, best) = model.best(7).unwrap();
    assert!(best.waf < 0.9 * one.waf && sizes.len() > 1, "{sizes:?} promise {} of {}", best.waf, one.waf);
}
