//! The FTLs and their sets of options: names, and whose turn it is.

use nandlab_proof::subject::{in_turn, on_all_cores};
use nandlab_proof::{subjects, Subject};

#[test]
fn names_are_words_of_their_own_and_find_their_subject() {
    for subject in subjects().into_iter().flatten() {
        assert_eq!(subject.to_string().parse(), Ok(subject.clone()));
        assert!(subject.variant.chars().all(|c| c.is_ascii_alphanumeric() || c == '_'), "{subject}");
    }
    assert!("page:no_such".parse::<Subject>().unwrap_err().contains("page:spare"));
}

#[test]
fn every_set_of_options_has_its_turn_and_differs_from_the_default() {
    for ftl in subjects() {
        let runs = 2 * ftl.len() as u64;
        for subject in &ftl {
            assert!((0..runs).any(|number| in_turn(&ftl, number) == subject), "{subject}");
            assert_eq!(subject.config == ftl[0].config, subject.is_default(), "{subject}");
        }
    }
}

#[test]
fn work_on_all_cores_keeps_its_order() {
    let items: Vec<u64> = (0..100).collect();
    assert_eq!(on_all_cores(&items, |item| item * item), items.iter().map(|item| item * item).collect::<Vec<_>>());
    assert!(on_all_cores(&items[..0], |_| ()).is_empty());
}
