//! Tests of `src/run/contents.rs`.

use nandlab_lab::inside::Contents;
use nandlab_workload::files::FileOp;

#[test]
fn files_are_followed_through_names_and_lengths() {
    let mut contents = Contents::default();
    let path = |path: &str| Box::<str>::from(path);
    contents.follow(&FileOp::Create { file: 1, path: path("a/b") }, &[]);
    contents.follow(&FileOp::Write { file: 1, at: 2, bytes: 3 }, &[7, 8, 9]);
    contents.follow(&FileOp::Truncate { file: 1, bytes: 4 }, &[]);
    contents.follow(&FileOp::Close(1), &[]);
    contents.follow(&FileOp::Rename { from: path("a"), to: path("c") }, &[]);
    contents.follow(&FileOp::Open { file: 2, path: path("c/b") }, &[]);
    contents.follow(&FileOp::Read { file: 2, at: 1, bytes: 9 }, &[0, 7, 8]);
    contents.follow(&FileOp::Read { file: 2, at: 9, bytes: 9 }, &[]);
    let wrong = std::panic::catch_unwind(move || {
        contents.follow(&FileOp::Read { file: 2, at: 1, bytes: 9 }, &[0, 7, 9]);
    });
    assert!(wrong.is_err(), "a byte is another one");
}
