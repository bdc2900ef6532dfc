//! Segments, their bytes, and wrong reads.

use super::*;

const PER: u32 = 128;

fn cache(options: Options) -> Segments {
    let mut cache = Segments::new(Shape::of(1_000, PER, 2, 20_000), options);
    (0..250).for_each(|row| (0..2).for_each(|die| cache.begun(Ppa(die * 1024 + row * 4), Lpn(row * 8))));
    cache
}

/// The page of stripes with a number.
fn numbered(number: u32) -> Ppa {
    Ppa(number % 2 * 1024 + number / 2)
}

fn load(cache: &mut Segments, map_page: u32, page: impl Fn(u32) -> Ppa) {
    let bytes: Vec<u8> = (map_page * PER..(map_page + 1) * PER).flat_map(|at| page(at).0.to_le_bytes()).collect();
    cache.take_in(Lpn(map_page * PER), &bytes);
    cache.each(&mut |at, found, _| assert!(at.0 / PER != map_page || found == page(at.0)));
}

#[test]
fn what_lies_in_order_is_one_segment() {
    let mut cache = cache(Options::default());
    load(&mut cache, 0, numbered);
    assert_eq!(cache.bytes, HEAD + BYTES);
    // Every third page written: gaps are regular, so no list is needed.
    load(&mut cache, 1, |at| if at % 3 == 0 { numbered(900 + at / 3) } else { Ppa::NONE });
    assert_eq!(cache.bytes, 2 * (HEAD + BYTES));
    assert_eq!((cache.mistaken(5), cache.mistaken(PER + 1)), (None, None));
}

/// Irregular gaps are one segment within the bound, with a byte for each page and one for the end; none without a bound
/// is longer than what is exact.
#[test]
fn a_segment_may_miss_by_the_bound() {
    let places = [0, 1, 2, 4, 7, 8, 12, 13, 17, 20];
    let page = |at: u32| places.iter().position(|&place| place == at).map_or(Ppa::NONE, |at| numbered(40 + at as u32));
    let mut near = cache(Options { error_bound: 4, ..Options::default() });
    load(&mut near, 0, page);
    assert_eq!(near.bytes, HEAD + BYTES + 1 + 10);
    let mistakes = places.iter().filter(|&&place| near.mistaken(place).is_some()).count();
    assert!((1..10).contains(&mistakes), "{mistakes} of ten places are missed");
    let mut exact = cache(Options { error_bound: 0, ..Options::default() });
    load(&mut exact, 0, page);
    assert!(exact.bytes > near.bytes);
    assert!(places.iter().all(|&place| exact.mistaken(place).is_none()));
}

/// Changed entries wait, and become a segment above the older ones.
#[test]
fn newer_segments_hide_older_ones() {
    let mut cache = cache(Options { learned_at: 4, ..Options::default() });
    load(&mut cache, 0, numbered);
    for (at, waits) in [(10, 1), (11, 2), (12, 3)] {
        cache.set(at, numbered(600 + at));
        assert_eq!((cache.waits, cache.bytes), (waits, HEAD + BYTES + BYTES * u64::from(waits)));
    }
    cache.set(13, numbered(613));
    assert_eq!((cache.waits, cache.bytes), (0, HEAD + 2 * BYTES));
    assert_eq!((cache.page(12), cache.mistaken(12), cache.page(14)), (numbered(612), None, numbered(14)));
    // A trim is a segment of no pages.
    (20..24).for_each(|at| cache.set(at, Ppa::NONE));
    assert_eq!(cache.bytes, HEAD + 3 * BYTES);
    assert_eq!((cache.page(21), cache.mistaken(21)), (Ppa::NONE, None));
    // Written over as a whole, nothing is left of them.
    for at in 0..PER {
        cache.set(at, numbered(800 + at));
    }
    assert_eq!((cache.waits, cache.pages.get(0).unwrap().groups[0].len()), (0, PER as usize / 4));
    cache.each(&mut |at, page, is_dirty| assert!(is_dirty && page == numbered(800 + at.0)));
}

/// Memory over its budget gives up the map page used least recently, written first if it has changed.
#[test]
fn a_changed_map_page_is_written_before_it_leaves() {
    let options = Options { learned_at: 1, ..Options::default() };
    let mut cache = Segments::new(Shape::of(1_000, PER, 2, HEAD + BYTES), options);
    (0..250).for_each(|row| (0..2).for_each(|die| cache.begun(Ppa(die * 1024 + row * 4), Lpn(row * 8))));
    load(&mut cache, 0, numbered);
    assert_eq!(cache.step(Lpn(1)), Step::Found(1));
    cache.set(1, numbered(1003));
    assert_eq!(cache.step(Lpn(200)), Step::Read(Lpn(PER)));
    load(&mut cache, 1, numbered);
    assert_eq!(cache.step(Lpn(200)), Step::Write(0));
    cache.written(0);
    assert_eq!((cache.step(Lpn(200)), cache.find(Lpn(1))), (Step::Found(200), None));
}

/// No map page takes more than eight bytes an entry, whatever is left of its segments.
#[test]
fn a_list_for_one_place_becomes_a_page() {
    let mut cache = cache(Options { learned_at: 2, ..Options::default() });
    load(&mut cache, 0, |_| Ppa::NONE);
    // No block's first page: with it the block would begin anew.
    let later = |page: u32| numbered(2 * (page / 3 * 4 + page % 3 + 1));
    for at in 0..PER - 2 {
        cache.set(at, later(100 + 2 * at));
        cache.set(at + 2, later(101 + 2 * at + at % 3));
        cache.each(&mut |_, _, _| ());
        assert!(cache.bytes <= cache.options.whole_bytes(PER, 1), "{} bytes", cache.bytes);
    }
}
