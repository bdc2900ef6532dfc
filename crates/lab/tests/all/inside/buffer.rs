//! Tests of `src/record/buffer.rs`.

use nandlab_buffer::Placement;
use nandlab_lab::record::PlacementRecord;

#[test]
fn less_than_a_hundredth_of_one_kind_is_degenerate() {
    let degenerate = |states: [u64; 2], places: [u64; 2]| {
        PlacementRecord::of(&Placement {
            balanced_intervals: states[0],
            write_intensive_intervals: states[1],
            dram_requests: places[0],
            nvram_requests: places[1],
            ..Placement::default()
        })
        .degenerate
    };
    assert!(!degenerate([99, 1], [1, 99]));
    assert!(degenerate([992, 8], [50, 50]));
    assert!(degenerate([1, 1], [1000, 1]));
    assert!(degenerate([0, 5], [1, 1]));
    assert!(!degenerate([0, 0], [0, 0]), "nothing was decided yet");
}
