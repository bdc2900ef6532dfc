//! The model itself: allowed and refused answers.

use nandlab_block::{Op, Request};
use nandlab_ftl::Trims;
use nandlab_proof::Model;

fn write(model: &mut Model, sector: u64, sectors: u32) -> (Request, Vec<u8>) {
    let request = Request::new(Op::Write, sector, sectors);
    let bytes = model.payload(&request);
    model.started(&request, &bytes);
    model.done(&request, &bytes);
    (request, bytes)
}

#[test]
fn a_cut_allows_what_was_written_since_the_flush_and_nothing_else() {
    let mut model = Model::new(8, 2, Trims::Durable);
    let (request, first) = write(&mut model, 0, 2);
    let flush = Request::new(Op::Flush, 0, 0);
    model.done(&flush, &[]);
    let (_, second) = write(&mut model, 0, 2);
    model.power_cut();
    model.clone().compare(&request, &first);
    model.clone().compare(&request, &second);
    let zeros = vec![0; 1024];
    let lost = std::panic::catch_unwind(move || model.compare(&request, &zeros));
    assert!(lost.is_err(), "a flushed write may not be lost");
}

#[test]
fn a_torn_sector_is_seen() {
    let mut model = Model::new(8, 2, Trims::Durable);
    let (request, mut bytes) = write(&mut model, 3, 1);
    bytes[300] ^= 1;
    assert!(std::panic::catch_unwind(move || model.compare(&request, &bytes)).is_err());
}

#[test]
fn a_trim_of_part_of_a_page_may_keep_it() {
    let mut model = Model::new(8, 2, Trims::Durable);
    let (request, bytes) = write(&mut model, 0, 4);
    let trim = Request::new(Op::Trim, 1, 3);
    model.started(&trim, &[]);
    model.done(&trim, &[]);
    let half = Request::new(Op::Read, 0, 2);
    model.compare(&half, &bytes[..1024]);
    assert!(
        std::panic::catch_unwind(move || model.compare(&request, &bytes)).is_err(),
        "sectors 2 and 3 are a whole page"
    );
}

/// A page written twice and another one, then the first trimmed, all flushed; with the bytes from the three writes.
fn trimmed(trims: Trims) -> (Model, [Vec<u8>; 3]) {
    let flush = Request::new(Op::Flush, 0, 0);
    let mut model = Model::new(8, 2, trims);
    let (_, first) = write(&mut model, 0, 2);
    model.done(&flush, &[]);
    let (_, second) = write(&mut model, 0, 2);
    let (_, elsewhere) = write(&mut model, 2, 2);
    model.done(&flush, &[]);
    let trim = Request::new(Op::Trim, 0, 2);
    model.started(&trim, &[]);
    model.done(&trim, &[]);
    model.done(&flush, &[]);
    (model, [first, second, elsewhere])
}

/// Whether the model allows the first page to hold these bytes.
fn allows(model: &Model, bytes: &[u8]) -> bool {
    let mut model = model.clone();
    let (read, bytes) = (Request::new(Op::Read, 0, 2), bytes.to_vec());
    std::panic::catch_unwind(move || model.compare(&read, &bytes)).is_ok()
}

#[test]
fn a_mount_makes_of_a_trim_what_the_ftl_says_and_nothing_else() {
    let zeros = vec![0; 1024];
    let expected = [(Trims::Durable, [true, false, false]), (Trims::Forgotten, [true, true, true])];
    for (trims, expected) in expected {
        let (mut model, [first, second, elsewhere]) = trimmed(trims);
        assert!(allows(&model, &zeros) && !allows(&model, &second), "before a mount it reads as zeros");
        model.power_cut();
        let found = [&zeros, &second, &first].map(|bytes| allows(&model, bytes));
        assert_eq!(found, expected, "{trims:?}: zeros, what it held last, what it held before");
        assert!(!allows(&model, &elsewhere), "the contents of another page");
    }
}

#[test]
fn what_a_mount_makes_of_a_trim_stays() {
    let flush = Request::new(Op::Flush, 0, 0);
    let (mut model, [first, second, _]) = trimmed(Trims::Forgotten);
    model.power_cut();
    model.compare(&Request::new(Op::Read, 0, 2), &first);
    model.settled();
    model.power_cut();
    assert!(allows(&model, &first) && !allows(&model, &second) && !allows(&model, &[0; 1024]));
    let (_, third) = write(&mut model, 0, 2);
    model.done(&flush, &[]);
    model.power_cut();
    assert!(allows(&model, &third) && !allows(&model, &first), "a write after the trim is kept");
}

#[test]
fn a_lost_write_after_a_trim_may_show_what_the_trim_hid() {
    let (mut model, [first, second, _]) = trimmed(Trims::Forgotten);
    let (_, third) = write(&mut model, 0, 2);
    let trim = Request::new(Op::Trim, 0, 2);
    model.started(&trim, &[]);
    model.power_cut();
    assert!(allows(&model, &second) && allows(&model, &third) && allows(&model, &first));
}
