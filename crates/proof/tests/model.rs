//! The model itself: what it allows, and what it refuses.

use nandlab_block::{Op, Request};
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
    let mut model = Model::new(8, 2, true);
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
    let mut model = Model::new(8, 2, true);
    let (request, mut bytes) = write(&mut model, 3, 1);
    bytes[300] ^= 1;
    assert!(std::panic::catch_unwind(move || model.compare(&request, &bytes)).is_err());
}

#[test]
fn a_trim_of_part_of_a_page_may_keep_it() {
    let mut model = Model::new(8, 2, true);
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

#[test]
fn a_trim_that_is_not_kept_gives_back_what_the_page_held_and_nothing_else() {
    let flush = Request::new(Op::Flush, 0, 0);
    let read = Request::new(Op::Read, 0, 2);
    let trimmed = |keeps_trims| {
        let mut model = Model::new(8, 2, keeps_trims);
        let (_, first) = write(&mut model, 0, 2);
        let (_, second) = write(&mut model, 0, 2);
        let (_, elsewhere) = write(&mut model, 2, 2);
        model.done(&flush, &[]);
        let trim = Request::new(Op::Trim, 0, 2);
        model.started(&trim, &[]);
        model.done(&trim, &[]);
        model.done(&flush, &[]);
        (model, [first, second, elsewhere])
    };
    let differs =
        |mut model: Model, bytes: Vec<u8>| std::panic::catch_unwind(move || model.compare(&read, &bytes)).is_err();
    let zeros = vec![0; 1024];

    let (mut model, [first, second, elsewhere]) = trimmed(false);
    assert!(differs(model.clone(), second.clone()), "before a mount it reads as zeros");
    model.power_cut();
    for bytes in [&zeros, &first, &second] {
        model.clone().compare(&read, bytes);
    }
    assert!(differs(model.clone(), elsewhere), "the contents of another page");
    model.compare(&read, &first);
    model.settled();
    model.power_cut();
    assert!(differs(model.clone(), second.clone()), "what the mount found stays");
    assert!(differs(model.clone(), zeros.clone()), "what the mount found stays");
    let (_, third) = write(&mut model, 0, 2);
    model.done(&flush, &[]);
    model.power_cut();
    model.clone().compare(&read, &third);
    assert!(differs(model, first), "a write after the trim is kept");

    let (mut model, [_, second, _]) = trimmed(true);
    model.power_cut();
    model.clone().compare(&read, &zeros);
    assert!(differs(model, second), "a trim that is kept");
}
