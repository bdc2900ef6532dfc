//! "Did you mean ...?"

/// The name nearest to `given` by edit distance, if any is near enough.
pub fn nearest<'a>(given: &str, names: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let given = given.to_lowercase();
    let best = names.into_iter().map(|name| (distance(&given, &name.to_lowercase()), name)).min_by_key(|&(d, _)| d)?;
    // A third of the letters wrong is a slip, more is another word.
    (best.0 <= 1.max(given.chars().count().div_ceil(3))).then_some(best.1)
}

/// Insertions, deletions, substitutions and neighbour swaps from `a` to `b` (optimal string alignment distance).
fn distance(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let mut before = vec![0; b.len() + 1];
    let mut above: Vec<usize> = (0..=b.len()).collect();
    for i in 1..=a.len() {
        let mut row = vec![i; b.len() + 1];
        for j in 1..=b.len() {
            let change = above[j - 1] + usize::from(a[i - 1] != b[j - 1]);
            row[j] = change.min(above[j] + 1).min(row[j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                row[j] = row[j].min(before[j - 2] + 1);
            }
        }
        before = std::mem::replace(&mut above, row);
    }
    above[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances() {
        for (a, b, d) in [("", "abc", 3), ("kitten", "sitting", 3), ("seed", "seed", 0), ("ab", "ba", 1)] {
            assert_eq!(distance(a, b), d, "{a} {b}");
        }
    }

    #[test]
    fn slips_are_found_and_other_words_are_not() {
        let names = ["read_share", "requests", "seed", "footprint"];
        assert_eq!(nearest("reqeusts", names), Some("requests"));
        assert_eq!(nearest("Footprint", names), Some("footprint"));
        assert_eq!(nearest("sed", names), Some("seed"));
        assert_eq!(nearest("temperature", names), None);
        assert_eq!(nearest("x", []), None);
    }
}
