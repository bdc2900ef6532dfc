//! Tests of `src/config/typed.rs`.

use nandlab_lab::config::Format;
use nandlab_lab::inside::{typed, Tree};
use nandlab_lab::ConfigError;

#[derive(Debug, PartialEq, serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct Root {
    number: u32,
    #[serde(default)]
    share: f64,
    #[serde(default)]
    choice: Option<Choice>,
    #[serde(default)]
    list: Vec<Inner>,
}

#[derive(Debug, PartialEq, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
enum Choice {
    Plain,
    WithOptions(Inner),
}

#[derive(Debug, Default, PartialEq, serde::Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Inner {
    depth: u8,
    wanted: bool,
}

fn read(text: &str) -> Result<Root, ConfigError> {
    let tree = Tree::parse(text, Format::Toml, "x.toml")?;
    typed(&tree, "", &tree.root)
}

#[test]
fn names_alone_and_whole_numbers_with_exponents_are_read() {
    let root = read("number = 1e6\nshare = 1\nchoice = \"with_options\"").unwrap();
    assert_eq!((root.number, root.share), (1_000_000, 1.0));
    assert_eq!(root.choice, Some(Choice::WithOptions(Inner::default())));
    assert_eq!(read("number = 1\nchoice = \"plain\"").unwrap().choice, Some(Choice::Plain));
}

#[test]
fn every_error_names_place_key_given_and_expected() {
    for (text, expected) in [
        ("", "x.toml: the experiment needs the key `number`"),
        ("number = 1\nnubmer = 2", "line 2, column 1: the experiment has no key `nubmer`; did you mean `number`? (known: number, share, choice, list)"),
        ("number = \"1\"", "line 1, column 10: number: expected a whole number from 0 to 4294967295, given \"1\""),
        ("number = 5_000_000_000", "number: expected a whole number from 0 to 4294967295, given 5000000000"),
        ("number = 1.5", "number: expected a whole number from 0 to 4294967295, given 1.5"),
        ("number = -1", "number: expected a whole number from 0 to 4294967295, given -1"),
        ("number = 1\nshare = true", "share: expected a number, given true"),
        ("number = 1\nchoice = 3", "choice: expected one of plain, with_options, given 3"),
        ("number = 1\nchoice = \"plian\"", "given `plian`; did you mean `plain`?"),
        ("number = 1\n[choice]\n[list]", "line 2, column 2: choice: expected exactly one of plain, with_options; found none"),
        ("number = 1\n[choice.plain]\n[choice.with_options]", "line 3, column 9: choice: expected exactly one of plain, with_options; found plain, with_options"),
        ("number = 1\n[choice.plain]\n[choice.plian]", "line 3, column 1: choice.plian: expected one of plain, with_options, given `plian`; did you mean `plain`?"),
        ("number = 1\n[choice.with_options]\ndepht = 3", "line 3, column 1: [choice.with_options] has no key `depht`; did you mean `depth`?"),
        ("number = 1\n[choice.with_options]\ndepth = 300", "line 3, column 9: choice.with_options.depth: expected a whole number from 0 to 255, given 300"),
        ("number = 1\n[[list]]\n[[list]]\nwanted = 1", "line 4, column 10: list[1].wanted: expected true or false, given 1"),
        ("number = 1\nlist = 1", "line 2, column 8: list: expected a list, given 1"),
        ("number = 1\nchoice = { plain = {} }", "`plain` has no options"),
    ] {
        let error = read(text).unwrap_err().to_string();
        assert!(error.contains(expected), "{text}: {error}");
    }
}
