//! Planes that program together, to the nanosecond.

use super::events::Player;
use super::*;
use nandlab_nand::profile::Suspend;
use nandlab_nand::work::Work;

const ALL: u32 = 4;

/// One channel with `dies` dies, each with four planes, which program together.
fn player(dies: u32) -> Player {
    Player::of_planes([1, dies, ALL], &joining())
}

fn joining() -> Timing {
    Timing { plane_overlap: PlaneOverlap::MultiPlane, ..timing() }
}

/// A request at time 0 that programs pages one after the other.
fn programs(player: &mut Player, pages: &[Ppa]) {
    player.issue(0, |nand| {
        for &at in pages {
            program(nand, at);
        }
    });
}

#[test]
fn planes_are_filled_one_by_one_and_program_at_once() {
    for planes in 1..=ALL {
        let mut player = player(1);
        programs(&mut player, &(0..planes).map(|plane| new(plane, 3)).collect::<Vec<_>>());
        programs(&mut player, &[new(0, 4)]);
        let whole = Time::from(planes) * PAGE + PROGRAM;
        assert_eq!(player.ends(), [whole, whole + PAGE + PROGRAM], "the request ends with the last of them");
        assert_eq!(player.nand.unit_busy_ns(), [whole + PAGE + PROGRAM]);
        assert_eq!(player.nand.channel_busy_ns(), [Time::from(planes + 1) * PAGE]);
        assert_eq!(player.nand.ctx().joined_programs(), u64::from(planes) - 1);
    }
}

#[test]
fn what_is_no_later_plane_at_the_same_place_in_the_same_request_waits() {
    for (why, first, second) in [
        ("another place", new(0, 3), new(1, 4)),
        ("the same plane", new(0, 3), new(0, 4)),
        ("an earlier plane", new(2, 3), new(0, 3)),
    ] {
        let mut player = player(1);
        programs(&mut player, &[first, second]);
        assert_eq!(player.ends(), [2 * (PAGE + PROGRAM)], "{why}");
        assert_eq!(player.nand.ctx().joined_programs(), 0, "{why}");
    }
    let mut player = player(1);
    programs(&mut player, &[new(0, 3)]);
    programs(&mut player, &[new(1, 3)]);
    assert_eq!(player.ends(), [PAGE + PROGRAM, 2 * (PAGE + PROGRAM)], "another request");
}

#[test]
fn nothing_comes_between_planes_that_program_together() {
    let mut player = player(1);
    player.issue(0, |nand| {
        program(nand, new(0, 3));
        read(nand, old(1, 0));
        program(nand, new(1, 3));
    });
    assert_eq!(player.ends(), [2 * (PAGE + PROGRAM) + READ + PAGE]);
}

/// The start command for the arrays follows the last page's transfer, so a page that is not at hand does not join.
#[test]
fn a_page_that_waits_for_another_operation_does_not_join() {
    let mut player = player(2);
    player.issue(0, |nand| {
        let found = read(nand, old(ALL, 0));
        program(nand, new(0, 3));
        let before = nand.ctx().after(found);
        program(nand, new(1, 3));
        nand.ctx().set_ready(before);
    });
    assert_eq!(player.ends(), [2 * (PAGE + PROGRAM)]);
}

#[test]
fn pages_that_join_wait_for_the_bus() {
    let mut player = player(2);
    // The other die's transfer comes second.
    programs(&mut player, &[new(0, 3), new(ALL, 3), new(1, 3)]);
    assert_eq!(player.ends(), [3 * PAGE + PROGRAM]);
    assert_eq!(player.nand.unit_busy_ns(), [2 * PAGE + PROGRAM, PAGE + PROGRAM]);
}

/// Whoever waits for the first page waits for the array, which works for all of them.
#[test]
fn an_operation_behind_the_first_page_waits_for_the_last() {
    let behind = |planes: u32| {
        let mut player = player(2);
        player.issue(0, |nand| {
            let first = program(nand, new(0, 3));
            (1..planes).for_each(|plane| _ = program(nand, new(plane, 3)));
            let before = nand.ctx().after(first);
            read(nand, old(ALL, 0));
            nand.ctx().set_ready(before);
        });
        player.ends()
    };
    assert_eq!(behind(1), [PAGE + PROGRAM + READ + PAGE]);
    assert_eq!(behind(ALL), [4 * PAGE + PROGRAM + READ + PAGE]);
}

/// The pieces of the die's work sum to its busy time, and the array's is one of them.
#[test]
fn the_array_works_once_for_all_planes() {
    let stopping = Suspend { suspend_us: 20.0, resume_us: 30.0, most_reads: 3, programs: true, slice_us: None };
    for suspend in [None, Some(stopping)] {
        let mut player = Player::of_planes([1, 1, ALL], &Timing { suspend, ..joining() });
        player.nand.ctx().keep_work();
        programs(&mut player, &[new(0, 3), new(1, 3), new(3, 3)]);
        assert_eq!(player.ends(), [3 * PAGE + PROGRAM]);
        let mut works = Vec::new();
        player.nand.ctx().take_work(&mut works);
        let worked = works.iter().filter_map(|work| match *work {
            Work::Worked { number, start, end, is_transfer } => Some((number, start, end, is_transfer)),
            _ => None,
        });
        let moved = (0..3).map(|n| (n, n * PAGE, (n + 1) * PAGE, true));
        let all: Vec<_> = moved.chain([(2, 3 * PAGE, 3 * PAGE + PROGRAM, false)]).collect();
        assert_eq!(worked.collect::<Vec<_>>(), all);
    }
}
