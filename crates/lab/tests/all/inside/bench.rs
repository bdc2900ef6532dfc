//! Tests of `src/bench.rs`.

use nandlab_buffer::BufferConfig;
use nandlab_ftl::parts::victim::Victim;
use nandlab_ftl::FtlConfig;
use nandlab_lab::bench::{limits, names, run};

#[test]
fn a_limit_comes_before_what_it_limits() {
    let benches: Vec<_> = limits().collect();
    for (at, (name, limit)) in benches.iter().enumerate() {
        if let Some(limit) = limit {
            assert!(benches[..at].iter().any(|(earlier, _)| earlier == limit), "{name}");
        }
    }
}

#[test]
fn every_ftl_and_every_victim_of_the_page_map_has_a_bench() {
    // A zoned drive alone takes no random writes.
    let all = FtlConfig::all();
    let ftls = all.iter().map(|ftl| if ftl.name() == "page" { "page_small" } else { ftl.name() });
    // `page_small` runs the default one.
    let victims = Victim::LIST.iter().filter(|(name, _)| *name != "greedy");
    let wanted = ftls.map(str::to_owned).chain(victims.map(|(name, _)| format!("page_{name}")));
    for name in wanted {
        assert!(names().any(|known| known == name), "{name}");
    }
}

#[test]
fn every_buffer_has_a_bench() {
    for buffer in BufferConfig::all() {
        let name = format!("buffer_{}", buffer.name());
        assert!(names().any(|known| known == name), "{name}");
    }
}

#[test]
fn an_unknown_name_gets_a_suggestion() {
    let error = run(&["page_smal".to_owned()], true, &mut |_| true).unwrap_err().to_string();
    assert!(error.contains("did you mean `page_small`?"), "{error}");
}

#[test]
fn the_machine_is_measured_on_request_and_a_bench_can_be_stopped() {
    let alone = run(&["page_small".to_owned()], true, &mut |_| true).unwrap();
    assert_eq!((alone.len(), alone[0].name, alone[0].of_limit), (1, "page_small", None));
    let mut told = Vec::new();
    let wanted = ["page_small".to_owned(), "machine_random_small".to_owned()];
    let figures = run(&wanted, true, &mut |name| {
        told.push(name.to_owned());
        true
    });
    let figures = figures.unwrap();
    assert_eq!(told, ["machine_random_small", "page_small"]);
    assert!(figures[1].value > 0.0 && figures[1].of_limit.unwrap() > 0.0, "{figures:?}");
    assert!(figures[1].lowest <= figures[1].value && figures[1].value <= figures[1].highest);
    assert!(run(&[], true, &mut |_| false).unwrap().is_empty());
}
