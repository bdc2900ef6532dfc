//! Just enough Rust grammar: text without comments and literals, functions, modules, imports.

/// `source` with blanked comments, strings and characters; line numbers stay.
pub fn code(source: &str) -> String {
    let mut rest = source;
    let mut code = String::with_capacity(source.len());
    while let Some(first) = rest.chars().next() {
        let before = code.chars().last().unwrap_or(' ');
        let length = literal(rest, before).unwrap_or(0);
        if length == 0 {
            code.push(first);
            rest = &rest[first.len_utf8()..];
        } else {
            code.extend(rest[..length].chars().map(|c| if c == '\n' { '\n' } else { ' ' }));
            rest = &rest[length..];
        }
    }
    code
}

/// Bytes in the comment or literal at the start of `text`.
fn literal(text: &str, before: char) -> Option<usize> {
    let is_word = before.is_alphanumeric() || before == '_';
    if text.starts_with("//") {
        return Some(text.find('\n').unwrap_or(text.len()));
    }
    if text.starts_with("/*") {
        return Some(text.find("*/").map_or(text.len(), |end| end + 2));
    }
    if !is_word && (text.starts_with('r') || text.starts_with("br")) {
        let prefix = 1 + text.find('r')?;
        let hashes = text[prefix..].len() - text[prefix..].trim_start_matches('#').len();
        if text[prefix + hashes..].starts_with('"') {
            let end = format!("\"{}", "#".repeat(hashes));
            let start = prefix + hashes + 1;
            return Some(text[start..].find(&end).map_or(text.len(), |at| start + at + end.len()));
        }
    }
    if text.starts_with('"') {
        return Some(quoted(text, '"'));
    }
    // A character, not a lifetime: 'x' or '\...'.
    if text.starts_with("'\\") {
        return Some(quoted(text, '\''));
    }
    let mut chars = text.chars();
    match (chars.next(), chars.next(), chars.next()) {
        (Some('\''), Some(c), Some('\'')) => Some(2 + c.len_utf8()),
        _ => None,
    }
}

/// Bytes up to the closing quote; a backslash hides a quote.
fn quoted(text: &str, quote: char) -> usize {
    let mut hidden = false;
    for (at, c) in text.char_indices().skip(1) {
        match c {
            _ if hidden => hidden = false,
            '\\' => hidden = true,
            c if c == quote => return at + 1,
            _ => {}
        }
    }
    text.len()
}

/// The part in `code` before its unit tests.
pub fn without_tests(code: &str) -> &str {
    code.split("#[cfg(test)]\nmod ").next().unwrap_or(code)
}

/// The words in `code` with their byte positions.
pub fn words(code: &str) -> impl Iterator<Item = (usize, &str)> {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let mut at = 0;
    std::iter::from_fn(move || {
        let start = at + code[at..].find(is_word)?;
        let end = code[start..].find(|c| !is_word(c)).map_or(code.len(), |length| start + length);
        at = end;
        Some((start, &code[start..end]))
    })
}

/// A position's line, from 1.
pub fn line_of(code: &str, at: usize) -> usize {
    1 + code[..at].matches('\n').count()
}

/// Name, first line and line count for each function with a body.
pub fn functions(code: &str) -> Vec<(String, usize, usize)> {
    let mut found = Vec::new();
    let mut all = words(code);
    while let Some((at, word)) = all.next() {
        if word != "fn" {
            continue;
        }
        // `fn(...)` is a type, not a function.
        if code[at + 2..].trim_start().starts_with('(') {
            continue;
        }
        let Some((_, name)) = all.next() else { break };
        let Some(open) = body_or_end(code, at) else { break };
        if code[open..].starts_with('{') {
            let first = line_of(code, at);
            found.push((name.to_owned(), first, 1 + line_of(code, closing(code, open)) - first));
        }
    }
    found
}

/// Name, first line and line count for each Python function: a body ends at the next line with less indentation.
pub fn python_functions(source: &str) -> Vec<(String, usize, usize)> {
    let lines: Vec<&str> = source.lines().collect();
    let indent = |line: &str| line.len() - line.trim_start().len();
    let mut found = Vec::new();
    for (at, line) in lines.iter().enumerate() {
        let text = line.trim_start();
        let Some(signature) = text.strip_prefix("async ").unwrap_or(text).strip_prefix("def ") else { continue };
        // A long signature's closing bracket is indented like the `def` itself.
        let inside = |line: &&&str| {
            line.trim().is_empty() || indent(line) > indent(lines[at]) || line.trim_start().starts_with(')')
        };
        let body = lines[at + 1..].iter().take_while(inside).count();
        let blank = lines[at + 1..=at + body].iter().rev().take_while(|line| line.trim().is_empty()).count();
        let name = signature.split('(').next().unwrap_or_default();
        found.push((name.to_owned(), at + 1, 1 + body - blank));
    }
    found
}

/// The position of the `{` or the `;` ending the signature at `at`; array types have theirs inside brackets.
fn body_or_end(code: &str, at: usize) -> Option<usize> {
    let mut depth = 0;
    for (offset, c) in code[at..].char_indices() {
        match c {
            '(' | '[' => depth += 1,
            ')' | ']' => depth -= 1,
            '{' | ';' if depth == 0 => return Some(at + offset),
            _ => {}
        }
    }
    None
}

/// The closing brace's position for the one at `open`.
fn closing(code: &str, open: usize) -> usize {
    let mut depth = 0;
    for (at, c) in code[open..].char_indices() {
        match c {
            '{' => depth += 1,
            '}' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return open + at;
        }
    }
    panic!("a brace is not closed: {}", code[open..].lines().next().unwrap_or_default());
}

/// Names in `mod name;`.
pub fn modules(code: &str) -> Vec<String> {
    let mut names = Vec::new();
    let mut all = words(code);
    while let Some((_, word)) = all.next() {
        if word != "mod" {
            continue;
        }
        let Some((at, name)) = all.next() else { break };
        if code[at + name.len()..].trim_start().starts_with(';') {
            names.push(name.to_owned());
        }
    }
    names
}

/// Paths such as `std::fs::File` that `code` names or imports, groups opened: `use std::{fs, io}` gives two.
pub fn std_paths(code: &str) -> Vec<(usize, String)> {
    let mut paths = Vec::new();
    for (at, _) in code.match_indices("std::") {
        let end = code[at..].find([';', '\n']).map_or(code.len(), |length| at + length);
        let end = if code[at..end].contains('{') { code[at..].find(';').map_or(end, |to| at + to) } else { end };
        let rest = &code[at + "std::".len()..end];
        if let Some(group) = rest.strip_prefix('{') {
            for part in group.split(',') {
                paths.push((at, format!("std::{}", part.trim())));
            }
        } else {
            paths.push((at, format!("std::{rest}")));
        }
    }
    paths
}

/// Every path `code` imports with `use`, groups opened, and every path it names from `crate` or `super`.
pub fn imports(code: &str) -> Vec<String> {
    let mut paths = Vec::new();
    for (at, _) in words(code).filter(|(_, word)| *word == "use") {
        let rest = &code[at + "use".len()..];
        open(String::new(), &rest[..rest.find(';').unwrap_or(rest.len())], &mut paths);
    }
    for (at, word) in words(code) {
        if ["crate", "super"].contains(&word) && code[at + word.len()..].starts_with("::") {
            let end = code[at..].find(|c: char| !(c.is_alphanumeric() || "_:".contains(c))).unwrap_or(code.len() - at);
            paths.push(code[at..at + end].trim_end_matches(':').to_owned());
        }
    }
    paths
}

/// Opens the groups behind `use`.
fn open(before: String, tree: &str, paths: &mut Vec<String>) {
    let Some(brace) = tree.find('{') else {
        paths.push(before + tree.split(" as ").next().unwrap_or_default().trim());
        return;
    };
    let before = before + tree[..brace].trim();
    let (mut depth, mut start) = (0, brace + 1);
    for (at, c) in tree.char_indices().skip_while(|(at, _)| *at <= brace) {
        match c {
            '{' => depth += 1,
            '}' if depth > 0 => depth -= 1,
            ',' | '}' if depth == 0 => {
                if !tree[start..at].trim().is_empty() {
                    open(before.clone(), &tree[start..at], paths);
                }
                start = at + 1;
            }
            _ => {}
        }
    }
}

#[test]
fn imports_are_opened() {
    let code = "use crate::{a::B, c::{self, D as E}};\nuse std::io;\nfn f() -> super::g::H { crate::i() }";
    let expected = ["crate::a::B", "crate::c::self", "crate::c::D", "std::io", "crate", "super::g::H", "crate::i"];
    assert_eq!(imports(code), expected);
}

#[test]
fn literals_and_comments_are_blanked() {
    let source = "let a = \"{ // \\\" }\"; // {\nlet b = '{'; let c: &'a str = r#\"}\"\"#; /* } */ f('\\'', b\"{\");";
    let code = code(source);
    assert!(!code.contains(['{', '}']), "{code}");
    assert_eq!(code.lines().count(), 2);
    assert!(code.contains("let c: &'a str ="), "{code}");
}

#[test]
fn functions_are_measured() {
    let code =
        "fn short() {}\ntrait T { fn none(); }\nlet f: fn(u8) = x;\nfn long(\n a: [u8; 2],\n) {\n  if a { }\n}\n";
    assert_eq!(functions(code), [("short".to_owned(), 1, 1), ("long".to_owned(), 4, 5)]);
}

#[test]
fn python_functions_are_measured() {
    let source =
        "def short(): ...\n\nclass C:\n    def long(\n        self,\n    ) -> int:\n\n        return 1\n\n\nx = 1\n";
    assert_eq!(python_functions(source), [("short".to_owned(), 1, 1), ("long".to_owned(), 4, 5)]);
}

#[test]
fn grouped_imports_are_opened() {
    let paths: Vec<String> =
        std_paths("use std::{fs, time::Instant};\nlet x = std::env::var(y);").into_iter().map(|p| p.1).collect();
    assert_eq!(paths, ["std::fs", "std::time::Instant}", "std::env::var(y)"]);
}
