//! On every device, flash rules are enforced and counts add up.

use crate::support::{apply, geometry, oob, rules, Answer, Script, Step, ORDERS};
use nandlab_nand::address::Shape;
use nandlab_nand::backed::Backed;
use nandlab_nand::counting::{Full, Lean};
use nandlab_nand::faulty::{self, Faulty};
use nandlab_nand::plain::WithContent;
use nandlab_nand::power_cut::PowerCut;
use nandlab_nand::{
    BlockId, Cause, Cell, Content, Counting, Geometry, Kind, Matrix, Nand, NandError, Oob, Origin, PageBuf, Ppa,
    ProgramOrder, Rules, Seq, ERASE_SHARE,
};
use std::panic::{catch_unwind, AssertUnwindSafe};

type Device = dyn Nand<Buf = Content>;

/// One device per kind, each with 8 blocks x 4 pages.
fn devices(program_order: ProgramOrder) -> Vec<(&'static str, Box<Device>)> {
    let (g, r) = (geometry(8, 4), rules(program_order));
    let wrapped = Faulty::new(Backed::ram(g, r), faulty::Config::default()).unwrap();
    vec![
        ("full", Box::new(WithContent::new(Counting::<Full>::new(g, r)))),
        ("lean", Box::new(WithContent::new(Counting::<Lean>::new(g, r)))),
        ("backed", Box::new(Backed::ram(g, r))),
        ("wrapped", Box::new(PowerCut::new(wrapped))),
    ]
}

fn put(device: &mut Device, at: u32, seq: u64) {
    let page = Content::zeroed(512);
    device.program(Ppa(at), &page, &[], oob(at, seq)).unwrap();
}

/// Asserts that every device refuses `act` with `sentence`.
fn refused(order: ProgramOrder, sentence: &str, act: impl Fn(&mut Device)) {
    for (name, mut device) in devices(order) {
        let panic = catch_unwind(AssertUnwindSafe(|| act(&mut *device)));
        let Err(panic) = panic else { panic!("{name}: not refused, expected: {sentence}") };
        let text = panic.downcast_ref::<String>().map(String::as_str).or(panic.downcast_ref::<&str>().copied());
        assert!(text.unwrap().contains(sentence), "{name}: {text:?}, expected: {sentence}");
    }
}

/// The answer to an operation that must be refused does not matter.
fn ignore<T>(_: Result<T, NandError>) {}

#[test]
fn a_programmed_page_is_not_programmed_again() {
    let twice = |device: &mut Device| {
        put(device, 4, 1);
        put(device, 4, 2);
    };
    refused(ProgramOrder::Any, "program of page 4: it is programmed, erase block 1 first", twice);
    refused(ProgramOrder::Ascending, "program of page 0 in block 1: descending, pages below 1 are spent", twice);
    refused(ProgramOrder::AscendingDense, "program of page 0 in block 1: this chip programs without gaps", twice);
    refused(ProgramOrder::Any, "program of page 4: it is programmed, erase block 1 first", |device| {
        put(device, 4, 1);
        put(device, 0, 2);
        let _ = device.copy(Ppa(0), Ppa(4), oob(9, 3));
    });
}

#[test]
fn the_order_of_programs_is_that_of_the_chip() {
    let back = |device: &mut Device| {
        put(device, 6, 1);
        put(device, 5, 2);
    };
    refused(ProgramOrder::Ascending, "program of page 1 in block 1: descending, pages below 3 are spent", back);
    refused(ProgramOrder::AscendingDense, "program of page 1 in block 0: this chip programs without gaps, page 0", {
        |device| put(device, 1, 1)
    });
    for (_, mut device) in devices(ProgramOrder::Any) {
        back(&mut *device);
        assert_eq!(device.read_spare(Ppa(4)), Ok(None), "a page that was passed over");
        assert_eq!(device.read_spare(Ppa(5)).unwrap().unwrap().lpn.0, 5);
    }
    for (_, mut device) in devices(ProgramOrder::Ascending) {
        put(&mut *device, 3, 1);
        device.erase(BlockId(0)).unwrap();
        put(&mut *device, 2, 2);
        for at in [0, 1, 3] {
            assert_eq!(device.read_spare(Ppa(at)), Ok(None), "a skipped page reads as erased");
        }
    }
}

#[test]
fn a_spare_area_is_programmed_as_often_as_the_chip_allows() {
    let sentence = "spare program of page 1: this chip allows 3 programs of a page between erases";
    refused(ProgramOrder::Any, sentence, |device| {
        put(device, 1, 1);
        for seq in 2..5 {
            device.program_spare(Ppa(1), oob(1, seq)).unwrap();
        }
    });
    refused(ProgramOrder::Any, "spare program of page 1: the page is erased", |device| {
        let _ = device.program_spare(Ppa(1), oob(1, 1));
    });
    for (_, mut device) in devices(ProgramOrder::Any) {
        for round in 0..2 {
            put(&mut *device, 1, 1 + round);
            for seq in [2, 3] {
                device.program_spare(Ppa(1), oob(7, seq + round)).unwrap();
            }
            assert_eq!(device.read_spare(Ppa(1)).unwrap().unwrap().lpn.0, 7);
            device.erase(BlockId(0)).unwrap();
        }
    }
}

#[test]
fn a_bad_block_takes_nothing() {
    for order in ORDERS {
        refused(order, "program of page 0 in block 2: the block is bad", |device| {
            device.retire(BlockId(2)).unwrap();
            put(device, 8, 1);
        });
        refused(order, "program of page 0 in block 2: the block is bad", |device| {
            put(device, 0, 1);
            device.retire(BlockId(2)).unwrap();
            let _ = device.copy(Ppa(0), Ppa(8), oob(0, 2));
        });
        refused(order, "erase of block 2: the block is bad", |device| {
            device.retire(BlockId(2)).unwrap();
            let _ = device.erase(BlockId(2));
        });
        for (name, mut device) in devices(order) {
            put(&mut *device, 8, 1);
            device.retire(BlockId(2)).unwrap();
            for at in 8..12 {
                assert_eq!(device.read_spare(Ppa(at)), Err(NandError::BadBlock(BlockId(2))), "{name}");
            }
        }
    }
}

#[test]
fn addresses_end_with_the_device() {
    let page = "page 32 is outside the device of 32 pages";
    let block = "block 8 is outside the device of 8 blocks";
    for order in ORDERS {
        refused(order, page, |device| put(device, 32, 1));
        refused(order, page, |device| ignore(device.read(Ppa(32), &mut Content::zeroed(512))));
        refused(order, page, |device| ignore(device.read_spare(Ppa(32))));
        refused(order, page, |device| ignore(device.read_tail(Ppa(32), &mut [0])));
        refused(order, page, |device| ignore(device.program_spare(Ppa(32), oob(0, 1))));
        refused(order, page, |device| ignore(device.copy(Ppa(32), Ppa(0), oob(0, 1))));
        refused(order, page, |device| {
            put(device, 0, 1);
            let _ = device.copy(Ppa(0), Ppa(32), oob(0, 2));
        });
        refused(order, block, |device| ignore(device.erase(BlockId(8))));
        refused(order, block, |device| ignore(device.retire(BlockId(8))));
    }
}

#[test]
fn erased_pages_and_missing_tails_are_not_read() {
    for order in ORDERS {
        let read = |device: &mut Device| ignore(device.read(Ppa(5), &mut Content::zeroed(512)));
        refused(order, "read of page 5: the page is erased", read);
        refused(order, "read of page 5: the page is erased", |device| {
            put(device, 4, 1);
            device.erase(BlockId(1)).unwrap();
            read(device);
        });
        refused(order, "copy of page 5: the page is erased", |device| ignore(device.copy(Ppa(5), Ppa(0), oob(0, 1))));
        refused(order, "read of the tail of page 4: it has none", |device| {
            put(device, 4, 1);
            let _ = device.read_tail(Ppa(4), &mut [0]);
        });
        refused(order, "read of 3 bytes of a tail of 2", |device| {
            device.program(Ppa(4), &Content::zeroed(512), &[1, 2], oob(0, 1)).unwrap();
            let _ = device.read_tail(Ppa(4), &mut [0; 3]);
        });
        refused(order, "a tail of 513 bytes is longer than a page", |device| {
            let _ = device.program(Ppa(0), &Content::zeroed(512), &[0; 513], oob(0, 1));
        });
    }
}

#[test]
fn odd_and_tiny_devices_fill_and_erase() {
    let odd = Shape {
        channels: 1,
        dies_per_channel: 1,
        planes_per_die: 1,
        blocks_per_plane: 7,
        pages_per_block: 3,
        page_bytes: 512,
        spare_bytes: 16,
    };
    for g in [geometry(8, 4), Geometry::new(odd).unwrap(), geometry(1, 2)] {
        for order in ORDERS {
            let mut device = Counting::<Full>::new(g, rules(order));
            let mut seq = 0;
            for round in 1..=3 {
                for at in 0..g.pages() {
                    seq += 1;
                    device.program(Ppa(at), &(), &[], oob(at, seq)).unwrap();
                }
                for at in 0..g.pages() {
                    assert_eq!(device.read(Ppa(at), &mut ()).unwrap(), oob(at, seq - u64::from(g.pages() - 1 - at)));
                }
                for block in 0..g.blocks() {
                    device.erase(BlockId(block)).unwrap();
                }
                assert!(device.pe_cycles().iter().all(|&cycles| cycles == round));
            }
            let total = device.ctx().matrix().total();
            assert_eq!((total.page_programs, total.page_reads), (u64::from(3 * g.pages()), u64::from(3 * g.pages())));
            assert_eq!(total.erase_shares, u64::from(3 * g.blocks()) * ERASE_SHARE);
        }
    }
}

/// A step's counts, by hand.
fn tally(cell: &mut Cell, step: &Step) {
    match step {
        Step::Begin(..) => {}
        Step::Program { tail, .. } => {
            cell.page_programs += 1;
            cell.meta_programs += u64::from(!tail.is_empty());
        }
        Step::Copy { .. } => cell.copies += 1,
        Step::SpareProgram { .. } | Step::Retire(_) => cell.spare_programs += 1,
        Step::Erase(_) => cell.erase_shares += ERASE_SHARE,
        Step::Read(_) => cell.page_reads += 1,
        Step::SpareRead(_) => cell.spare_reads += 1,
        Step::TailRead { .. } => {
            cell.page_reads += 1;
            cell.meta_reads += 1;
        }
    }
}

/// Matrix sums by rows and by columns.
fn rows_and_columns(matrix: &Matrix) -> [Cell; 2] {
    let mut sums = [Cell::default(); 2];
    let mut add = |at: usize, cell: Cell| {
        let sum = &mut sums[at];
        sum.page_reads += cell.page_reads;
        sum.page_programs += cell.page_programs;
        sum.copies += cell.copies;
        sum.erase_shares += cell.erase_shares;
        sum.spare_reads += cell.spare_reads;
        sum.spare_programs += cell.spare_programs;
        sum.meta_reads += cell.meta_reads;
        sum.meta_programs += cell.meta_programs;
    };
    (0..Origin::COUNT as u8).for_each(|row| add(0, matrix.sum(|origin, _| origin == Origin(row))));
    Cause::ALL.iter().for_each(|&column| add(1, matrix.sum(|_, cause| cause == column)));
    sums
}

/// The part kept by a lean device from an answer.
fn lean(answer: &Answer) -> Result<Option<(u32, Origin)>, NandError> {
    answer.0.map(|oob| oob.map(|oob: Oob| (oob.lpn.0, oob.origin)))
}

#[test]
fn all_devices_count_alike_and_the_sums_are_the_totals() {
    for order in ORDERS {
        for seed in 0..4 {
            let (g, r) = (geometry(9, 5), rules(order));
            let mut script = Script::new(seed, g, r);
            let (mut full, mut slim) = (Counting::<Full>::new(g, r), Counting::<Lean>::new(g, r));
            let mut backed = Backed::ram(g, r);
            let mut total = Cell::default();
            for _ in 0..5_000 {
                let step = script.step();
                tally(&mut total, &step);
                let answers = [apply(&mut full, &step), apply(&mut slim, &step), apply(&mut backed, &step)];
                assert_eq!(answers[0].0, answers[2].0, "{step:?}");
                assert_eq!(lean(&answers[0]), lean(&answers[1]), "{step:?}");
                if let Step::Read(at) = step {
                    assert_eq!(answers[2].1, script.expected(at));
                }
                if let Step::TailRead { at, bytes } = step {
                    let page = script.expected(at);
                    assert_eq!(answers.map(|answer| answer.1), [(); 3].map(|()| page[512 - bytes..].to_vec()));
                }
            }
            let matrix = full.ctx().matrix().clone();
            assert_eq!(&matrix, slim.ctx().matrix());
            assert_eq!(&matrix, backed.ctx().matrix());
            assert_eq!(matrix.total(), total);
            assert_eq!(rows_and_columns(&matrix), [total, total]);
            let erases: u64 = full.pe_cycles().iter().map(|&cycles| u64::from(cycles)).sum();
            assert_eq!(erases * ERASE_SHARE, total.erase_shares);
            assert_eq!((full.pe_cycles(), full.pe_cycles()), (slim.pe_cycles(), backed.pe_cycles()));
            assert!(erases > 100 && total.copies > 100 && total.meta_reads > 20, "the script did something: {total:?}");
        }
    }
}

#[test]
fn a_copy_keeps_the_author_and_moves_no_blame() {
    let mut device = Counting::<Full>::new(geometry(8, 4), Rules::default());
    let by = |origin, lpn, seq| Oob { origin, ..oob(lpn, seq) };
    for (at, origin) in [Origin::JOURNAL, Origin::FILE_DATA, Origin::FILE_DATA, Origin::FILE_DATA].iter().enumerate() {
        device.program(Ppa(at as u32), &(), &[], by(*origin, 0, at as u64)).unwrap();
    }
    device.ctx().set_cause(Cause::Gc);
    // The copy runs under another origin, but counts for the author.
    device.copy(Ppa(0), Ppa(4), by(Origin::FTL, 0, 9)).unwrap();
    assert_eq!(device.read_spare(Ppa(4)).unwrap().unwrap().origin, Origin::JOURNAL);
    assert_eq!(device.ctx().matrix().cell(Origin::JOURNAL, Cause::Gc).copies, 1);
    // The journal's page was valid at the erase, so file data alone caused the erase.
    device.erase(BlockId(0)).unwrap();
    assert_eq!(device.ctx().matrix().cell(Origin::FILE_DATA, Cause::Gc).erase_shares, ERASE_SHARE);
    assert_eq!(device.ctx().matrix().cell(Origin::JOURNAL, Cause::Gc).erase_shares, 0);
}

#[test]
fn a_spare_program_keeps_the_author_and_moves_no_blame() {
    for (name, mut device) in devices(ProgramOrder::Ascending) {
        let by = |origin, lpn, seq| Oob { origin, ..oob(lpn, seq) };
        for (at, origin) in (0..).zip([Origin::JOURNAL, Origin::FILE_DATA, Origin::FILE_DATA]) {
            device.program(Ppa(at), &Content::zeroed(512), &[], by(origin, at, at.into())).unwrap();
        }
        // The FTL marks a journal page; it still belongs to the journal, and a copy counts for the journal.
        device.program_spare(Ppa(0), by(Origin::FTL, 0, 0)).unwrap();
        assert_eq!(device.read_spare(Ppa(0)).unwrap().unwrap().origin, Origin::JOURNAL, "{name}");
        device.copy(Ppa(0), Ppa(4), Oob::renewed(0, Seq(9))).unwrap();
        device.erase(BlockId(0)).unwrap();
        let shares = |origin| device.ctx().matrix().cell(origin, Cause::Host).erase_shares;
        let [journal, ftl, data] = [Origin::JOURNAL, Origin::FTL, Origin::FILE_DATA].map(shares);
        assert_eq!((journal, ftl, data), (0, 0, ERASE_SHARE), "{name}");
    }
}

#[test]
fn a_renewed_copy_keeps_what_the_page_is() {
    for (name, mut device) in devices(ProgramOrder::Ascending) {
        let old = Oob { aux: 5, kind: Kind::Header, origin: Origin::JOURNAL, ..oob(9, 1) };
        device.program(Ppa(0), &Content::zeroed(512), &[], old).unwrap();
        let stored = device.copy(Ppa(0), Ppa(4), Oob::renewed(6, Seq(2))).unwrap();
        assert_eq!(stored, Oob { aux: 6, seq: Seq(2), ..old }, "{name}");
        assert_eq!(device.read_spare(Ppa(4)), Ok(Some(stored)), "{name}");
        let named = device.copy(Ppa(0), Ppa(5), oob(3, 3)).unwrap();
        assert_eq!(named, Oob { origin: Origin::JOURNAL, ..oob(3, 3) }, "{name}");
    }
}

#[test]
fn an_erase_is_shared_by_whose_pages_were_invalid() {
    let mut device = Counting::<Full>::new(geometry(8, 4), Rules::default());
    for (at, origin) in [(0, Origin::JOURNAL), (1, Origin::FILE_DATA), (2, Origin::FILE_DATA), (3, Origin::FILE_DATA)] {
        device.program(Ppa(at), &(), &[], Oob { origin, ..oob(at, at.into()) }).unwrap();
    }
    device.erase(BlockId(0)).unwrap();
    let shares = |device: &mut Counting, origin| device.ctx().matrix().cell(origin, Cause::Host).erase_shares;
    assert_eq!(shares(&mut device, Origin::JOURNAL), ERASE_SHARE / 4);
    assert_eq!(shares(&mut device, Origin::FILE_DATA), ERASE_SHARE / 4 * 3);
    device.ctx().begin(Origin::FTL, 0);
    device.erase(BlockId(0)).unwrap();
    assert_eq!(shares(&mut device, Origin::FTL), ERASE_SHARE, "an erased block is erased at the asker's cost");
}
