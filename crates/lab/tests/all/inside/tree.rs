//! Tests of `src/config/tree.rs`.

use nandlab_lab::config::Format;
use nandlab_lab::inside::{Part, Tree};

#[test]
fn toml_and_json_give_one_tree_and_both_know_their_places() {
    let toml = "a = 1\n[b.c]\nd = [{ e = 2.5 }, { e = \"x\" }]\nt = true\n";
    let json = "{\"a\": 1,\n \"b\": {\"c\":\n {\"d\": [{\"e\": 2.5},\n  {\"e\": \"x\"}], \"t\": true}}}";
    let toml = Tree::parse(toml, Format::Toml, "a.toml").unwrap();
    let json = Tree::parse(json, Format::Json, "a.json").unwrap();
    assert_eq!(toml.root, json.root);
    let place = |tree: &Tree, path: &str, part| {
        let error = tree.error(path, part, String::new());
        (error.line.unwrap(), error.column.unwrap())
    };
    assert_eq!(place(&toml, "b.c.d[1].e", Part::Key), (3, 21));
    assert_eq!(place(&toml, "b.c.d[1].e", Part::Value), (3, 25));
    assert_eq!(place(&toml, "b.c", Part::Key), (2, 4));
    assert_eq!(place(&toml, "b.c.missing", Part::Value), (2, 4));
    assert_eq!(place(&json, "b.c.d[1].e", Part::Key), (4, 4));
    assert_eq!(place(&json, "b.c.d[1].e", Part::Value), (4, 9));
    assert_eq!(place(&json, "b.c", Part::Key), (2, 8));
}

#[test]
fn syntax_errors_have_a_place() {
    let error = Tree::parse("a = 1\nb = = 2\n", Format::Toml, "a.toml").unwrap_err();
    assert_eq!((error.line, error.column), (Some(2), Some(5)), "{error}");
    let error = Tree::parse("{\"a\": 1,\n \"b\" 2}", Format::Json, "a.json").unwrap_err();
    assert_eq!((error.line, error.column), (Some(2), Some(6)), "{error}");
    let error = Tree::parse("[1]", Format::Json, "a.json").unwrap_err();
    assert!(error.to_string().contains("expected an object"), "{error}");
    let nested = format!("{}{}", "[".repeat(300), "]".repeat(300));
    for error in [
        Tree::parse(&format!("a = 1\nb = {nested}"), Format::Toml, "a.toml").unwrap_err(),
        Tree::parse(&format!("{{\"a\": 1,\n\"b\": {nested}}}"), Format::Json, "a.json").unwrap_err(),
    ] {
        assert_eq!(error.line, Some(2));
        assert!(error.column.is_some() && error.message.starts_with("tables and lists are nested too deeply"));
    }
    for text in ["a = 2020-01-01", "a = nan", "a = 99999999999999999999"] {
        let error = Tree::parse(text, Format::Toml, "a.toml").unwrap_err();
        assert!(error.to_string().starts_with("a.toml, line 1, column 5: "), "{error}");
    }
}

#[test]
fn an_override_nests_no_deeper_than_a_file() {
    let mut tree = Tree::parse("", Format::Toml, "").unwrap();
    let key = |levels: usize| vec!["a"; levels].join(".");
    tree.set(&format!("{}=1", key(80))).unwrap();
    for levels in [81, 30_000] {
        let error = tree.set(&format!("{}=1", key(levels))).unwrap_err().to_string();
        assert!(error.starts_with("--set a.a.a.a.a.a.a.a.a.a....: tables and lists are nested too deeply"), "{error}");
    }
    // A value is no key.
    tree.set(&format!("b={}", ".".repeat(100))).unwrap();
}

#[test]
fn both_formats_take_the_same_numbers() {
    for (text, whole) in [("18446744073709551615", u64::MAX), ("9223372036854775808", 1 << 63), ("0", 0)] {
        let toml = Tree::parse(&format!("a = {text}"), Format::Toml, "").unwrap();
        let json = Tree::parse(&format!("{{\"a\": {text}}}"), Format::Json, "").unwrap();
        assert_eq!(toml.root, json.root);
        assert_eq!(toml.root["a"].as_u64(), Some(whole));
    }
    let least = Tree::parse("a = -9223372036854775808\nb = 0xFFFF_FFFF_FFFF_FFFF", Format::Toml, "").unwrap();
    assert_eq!((least.root["a"].as_i64(), least.root["b"].as_u64()), (Some(i64::MIN), Some(u64::MAX)));
    for text in ["18446744073709551616", "-9223372036854775809"] {
        let error = Tree::parse(&format!("a = {text}"), Format::Toml, "a.toml").unwrap_err().to_string();
        let expected = "a: expected a whole number from 0 to 18446744073709551615, given ";
        assert_eq!(error, format!("a.toml, line 1, column 5: {expected}{text}"));
    }
}

#[test]
fn numbers_that_are_none_are_refused_by_their_key() {
    let error = |text: &str, format| Tree::parse(text, format, "x").unwrap_err().to_string();
    let json = "{\"NaN \\\" NaN\": \"Infinity\",\n \"b\": {\"c\": [1, WORD], \"d\": NaN}}";
    for word in ["NaN", "Infinity", "-Infinity"] {
        let error = error(&json.replace("WORD", word), Format::Json);
        assert_eq!(error, format!("x, line 2, column 17: b.c[1]: expected a finite number, given {word}"));
    }
    for word in ["nan", "inf", "-inf"] {
        let error = error(&format!("[b]\nc = {word}"), Format::Toml);
        assert_eq!(error, format!("x, line 2, column 5: b.c: expected a finite number, given {word}"));
    }
    // With other errors, the parser's message appears.
    assert!(error("{\"a\": NaN, \"b\"}", Format::Json).starts_with("x, line 1, column 7: expected value"));
}

#[test]
fn a_key_that_stands_twice_is_refused() {
    let error = |text: &str, format| Tree::parse(text, format, "x").unwrap_err();
    let json = error("{\"a\": {\"b\": 1,\n \"c\": [{\"b\": 3}], \"b\": 2}}", Format::Json);
    assert_eq!(json.to_string(), "x, line 2, column 19: a.b is given twice");
    assert_eq!(json.key.as_deref(), Some("a.b"));
    assert!(error("a = 1\na = 2", Format::Toml).to_string().starts_with("x, line 2, column 1: duplicate key"));
}

#[test]
fn sets_replace_and_add() {
    let mut tree = Tree::parse("ftl = \"page\"\n[device]\ncapacity = 5\n", Format::Toml, "a.toml").unwrap();
    for set in ["device.capacity=64 MiB", "ftl.page.reserve=3", "host.list=[1, 2]", "seed = 7", "x.y='a=b'"] {
        tree.set(set).unwrap();
    }
    let expected =
        "[ftl.page]\nreserve = 3\n[device]\ncapacity = \"64 MiB\"\n[host]\nlist = [1, 2]\n[x]\ny = \"a=b\"\n";
    let expected = Tree::parse(&format!("seed = 7\n{expected}"), Format::Toml, "").unwrap();
    assert_eq!(tree.root, expected.root);
    let error = tree.error("device.capacity", Part::Value, "too small".into());
    assert_eq!(error.to_string(), "--set device.capacity=64 MiB: too small");
    // An omitted table may begin anew.
    let mut anew = tree.clone();
    ["x=none", "x.z=3"].into_iter().for_each(|set| anew.set(set).unwrap());
    assert_eq!(anew.root["x"], serde_json::json!({ "z": 3 }));
    assert_eq!(anew.error("x.y", Part::Value, "missing".into()).to_string(), "--set x.z=3: missing");
    for (set, message) in [("novalue", "expected KEY=VALUE"), ("a..b=1", "is no key"), ("seed.x=1", "is not a table")] {
        assert!(tree.set(set).unwrap_err().to_string().contains(message));
    }
}
