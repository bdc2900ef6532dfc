//! Lines through map pages, and what they save.

use super::*;

const PER: u32 = 16;
/// Lines and bits of 63 map pages, and room for some entries.
const BUDGET: u64 = 63 * (8 * 8 + 2) + 100;

fn cache() -> Learned {
    let mut cache = Learned::new(Shape::of(1_000, PER, 2, BUDGET), Options::default());
    // Blocks of both dies side by side: logical page n is page n of the stripes.
    for row in 0..100 {
        (0..2).for_each(|die| cache.begun(Ppa(die * 1024 + row * 4), Lpn(row * 8)));
    }
    cache
}

/// The page of stripes with a number.
fn numbered(number: u32) -> Ppa {
    Ppa(number % 2 * 1024 + number / 2)
}

fn bytes_of(entries: impl Iterator<Item = Ppa>) -> Vec<u8> {
    entries.flat_map(|page| page.0.to_le_bytes()).collect()
}

/// Writes map page 0 after a change of all its entries in order.
fn train(cache: &mut Learned, bytes: &[u8]) {
    cache.models[0].in_order = PER;
    cache.learn(0, bytes);
    assert_eq!(cache.models[0].in_order, 0);
}

/// Asks for an entry as the scheme does; returns how often a map page was read.
fn ask(cache: &mut Learned, at: u32) -> u32 {
    let mut reads = 0;
    loop {
        match cache.step(Lpn(at)) {
            Step::Found(_) => return reads,
            Step::Write(map_page) => cache.written(map_page),
            Step::Read(first) => {
                reads += 1;
                cache.take_in(first, &bytes_of((first.0..first.0 / PER * PER + PER).map(numbered)));
            }
        }
    }
}

#[test]
fn a_map_page_in_order_needs_no_read() {
    let mut cache = cache();
    assert_eq!(cache.predicted(Lpn(5)), None);
    train(&mut cache, &bytes_of((0..PER).map(numbered)));
    (0..PER).for_each(|at| assert_eq!(cache.predicted(Lpn(at)), Some(numbered(at))));
    assert_eq!((cache.models[0].lines.len(), cache.predicted(Lpn(PER))), (1, None));
    // A write needs the former page, which the line gives.
    assert_eq!((ask(&mut cache, 3), cache.page(cache.find(Lpn(3)).unwrap())), (0, numbered(3)));
    let slot = cache.find(Lpn(3)).unwrap();
    cache.set(slot, numbered(700));
    assert_eq!(
        (cache.predicted(Lpn(3)), cache.by_line(Lpn(3)), cache.by_line(Lpn(4))),
        (None, None, Some(numbered(4)))
    );
    cache.each(&mut |_, _, _| ());
}

/// Lines drawn anew stay only if they are right for as many entries.
#[test]
fn worse_lines_do_not_replace_better_ones() {
    let mut cache = cache();
    train(&mut cache, &bytes_of((0..PER).map(numbered)));
    for at in [2, 7, 9] {
        cache.moved(Lpn(at), numbered(600 - at));
    }
    assert_eq!(cache.models[0].count, 13);
    let now = |at: u32| if [2, 7, 9].contains(&at) { numbered(600 - at) } else { numbered(at) };
    train(&mut cache, &bytes_of((0..PER).map(now)));
    cache.each(&mut |at, page, _| assert_eq!(page, now(at.0)));
    assert!(cache.models[0].count >= 13);
}

/// At most `pieces` lines: the longest.
#[test]
fn the_longest_lines_stay() {
    let mut cache = Learned::new(Shape::of(1_000, PER, 2, BUDGET), Options { pieces: 1 });
    (0..100).for_each(|row| (0..2).for_each(|die| cache.begun(Ppa(die * 1024 + row * 4), Lpn(row * 8))));
    let jump = |at: u32| numbered(if at < 5 { 300 + at } else { at });
    train(&mut cache, &bytes_of((0..PER).map(jump)));
    assert_eq!(cache.models[0].count, 11);
    assert_eq!((cache.predicted(Lpn(4)), cache.predicted(Lpn(5))), (None, Some(numbered(5))));
}

/// A map page that is written after moves has their places, and its lines stay.
#[test]
fn moved_pages_lie_on_the_lines_drawn_at_their_map_page_s_write() {
    let mut cache = cache();
    train(&mut cache, &bytes_of((0..PER).map(numbered)));
    let moved = |at: u32| if at == 4 || at == 5 { numbered(500 + at) } else { numbered(at) };
    [4, 5].iter().for_each(|&at| _ = cache.moved(Lpn(at), moved(at)));
    assert_eq!((cache.predicted(Lpn(4)), cache.predicted(Lpn(5))), (None, None), "the lines have their former places");
    train(&mut cache, &bytes_of((0..PER).map(moved)));
    [4, 5].iter().for_each(|&at| cache.clean(Lpn(at)));
    (0..PER).for_each(|at| assert_eq!(cache.predicted(Lpn(at)), Some(moved(at))));
}
