//! Guesses which columns a text of no known format may have, for a message: nothing is read by a guess.

use super::columns::Separator;

/// What a text may be as a table: keys and values of `[workload.trace]`, a line each.
pub(crate) struct Guess {
    pub(crate) lines: Vec<String>,
}

/// Lines that have to be of one form.
const SAMPLE: usize = 16;

/// Parts of names of columns, those that say most first.
const TIME: &[&str] = &["timestamp", "time", "arrival", "when", "date", "ts", "sec"];
const OP: &[&str] = &["op", "rw", "iotype", "type", "kind", "cmd", "command", "direction", "action", "request"];
const ADDRESS: &[&str] = &["lba", "offset", "address", "addr", "sector", "lbn", "start", "blkno", "pos", "block"];
const SIZE: &[&str] = &["size", "length", "len", "bytes", "nsectors", "sectors", "count", "nblocks", "blocks"];

/// What the lines of `text` may be; `None` where no column looks like an operation beside two numbers.
pub(crate) fn guess(text: &[&[u8]]) -> Option<Guess> {
    let lines: Vec<&str> = text
        .iter()
        .filter_map(|line| std::str::from_utf8(line).ok())
        .filter(|line| !line.starts_with('#'))
        .take(SAMPLE + 1)
        .collect();
    let separators = [Separator::Comma, Separator::Semicolon, Separator::Tab, Separator::Blanks];
    separators.into_iter().find_map(|separator| {
        let rows: Vec<Vec<&str>> = lines.iter().map(|line| cut(line, separator)).collect();
        let width = rows.first()?.len();
        (width >= 3 && rows.iter().all(|row| row.len() == width)).then(|| of_table(&rows, separator))?
    })
}

fn cut(line: &str, separator: Separator) -> Vec<&str> {
    let sign = match separator {
        Separator::Comma => ',',
        Separator::Semicolon => ';',
        Separator::Tab => '\t',
        Separator::Blanks => return line.split_whitespace().collect(),
    };
    line.split(sign).map(|field| field.trim().trim_matches('"')).collect()
}

fn of_table(rows: &[Vec<&str>], separator: Separator) -> Option<Guess> {
    let is_number = |field: &&str| field.parse::<f64>().is_ok();
    let header = rows.first().filter(|row| !row.iter().any(is_number)).filter(|_| rows.len() > 1);
    let values = &rows[usize::from(header.is_some())..];
    let columns: Vec<Vec<&str>> = (0..rows[0].len()).map(|at| values.iter().map(|row| row[at]).collect()).collect();
    let table = Table { header: header.map(Vec::as_slice), columns: &columns };
    let op = table.op()?;
    let named = table.named(ADDRESS, &[op]);
    let taken = [op, named.unwrap_or(op)];
    let time = table.named(TIME, &taken).or_else(|| table.rising(&taken));
    let address = named.or_else(|| table.largest(&[op, time.unwrap_or(op)]))?;
    let size = table
        .named(SIZE, &[op, address, time.unwrap_or(op)])
        .or_else(|| table.after(address, &[op, time.unwrap_or(op)]))?;
    Some(table.told((time, op, address, size), separator))
}

/// The fields of a text by columns.
struct Table<'a> {
    header: Option<&'a [&'a str]>,
    columns: &'a [Vec<&'a str>],
}

impl Table<'_> {
    /// The column of whole words for operations.
    fn op(&self) -> Option<usize> {
        let is_op = |column: &Vec<&str>| column.iter().all(|field| word(field).is_some());
        self.named_where(OP, &[], is_op).or_else(|| self.columns.iter().position(is_op)).or_else(|| {
            let is_flag = |column: &Vec<&str>| column.iter().all(|field| matches!(*field, "0" | "1"));
            self.named_where(OP, &[], is_flag)
        })
    }

    /// The column of numbers whose name has the first of `parts` that any name has.
    fn named(&self, parts: &[&str], taken: &[usize]) -> Option<usize> {
        self.named_where(parts, taken, |column| is_numeric(column))
    }

    fn named_where(&self, parts: &[&str], taken: &[usize], is_right: impl Fn(&Vec<&str>) -> bool) -> Option<usize> {
        let header = self.header?;
        let plain = |name: &str| name.to_lowercase().replace(|letter: char| !letter.is_alphanumeric(), "");
        let is_free = |at: &usize| !taken.contains(at) && is_right(&self.columns[*at]);
        let whole =
            parts.iter().find_map(|part| (0..header.len()).filter(is_free).find(|&at| plain(header[at]) == *part));
        whole.or_else(|| {
            parts.iter().find_map(|part| (0..header.len()).filter(is_free).find(|&at| plain(header[at]).contains(part)))
        })
    }

    /// The column of the most different numbers, of these the one of the largest.
    fn largest(&self, taken: &[usize]) -> Option<usize> {
        let different = |at: usize| self.columns[at].iter().collect::<std::collections::BTreeSet<_>>().len();
        let sum = |at: usize| self.columns[at].iter().filter_map(|field| field.parse::<f64>().ok()).sum::<f64>();
        let free = (0..self.columns.len()).filter(|at| !taken.contains(at) && is_whole(&self.columns[*at]));
        free.max_by(|&one, &other| different(one).cmp(&different(other)).then_with(|| sum(one).total_cmp(&sum(other))))
    }

    fn rises(&self, at: usize) -> bool {
        let values: Vec<f64> = self.columns[at].iter().filter_map(|field| field.parse().ok()).collect();
        values.len() == self.columns[at].len() && values.windows(2).all(|pair| pair[0] <= pair[1])
    }

    /// The first column that never falls, of a text without names.
    fn rising(&self, taken: &[usize]) -> Option<usize> {
        if self.header.is_some() {
            return None;
        }
        (0..self.columns.len()).find(|at| !taken.contains(at) && is_numeric(&self.columns[*at]) && self.rises(*at))
    }

    fn after(&self, address: usize, taken: &[usize]) -> Option<usize> {
        let is_free = |at: &usize| *at != address && !taken.contains(at) && is_whole(&self.columns[*at]);
        (address + 1..self.columns.len()).chain(0..address).find(is_free)
    }

    fn name(&self, at: usize) -> String {
        self.header.map_or_else(|| (at + 1).to_string(), |header| quoted(header[at]))
    }

    /// The lines of `[workload.trace]`.
    fn told(&self, (time, op, address, size): (Option<usize>, usize, usize, usize), separator: Separator) -> Guess {
        let mut keys = vec![("op".to_owned(), self.name(op))];
        keys.push(("address".to_owned(), self.name(address)));
        keys.push(("size".to_owned(), self.name(size)));
        keys.extend(time.map(|at| ("time".to_owned(), self.name(at))));
        keys.push(("address_unit_bytes".to_owned(), self.unit(address).to_string()));
        keys.push(("size_unit_bytes".to_owned(), self.unit(size).to_string()));
        match separator {
            Separator::Comma => {}
            Separator::Semicolon => keys.push(("separator".to_owned(), quoted("semicolon"))),
            Separator::Tab => keys.push(("separator".to_owned(), quoted("tab"))),
            Separator::Blanks => keys.push(("separator".to_owned(), quoted("blanks"))),
        }
        for kind in ["read", "write", "trim", "flush"] {
            let mut words: Vec<&str> = self.columns[op]
                .iter()
                .copied()
                .filter(|field| word(field) == Some(kind) || flag(field) == kind)
                .collect();
            words.sort_unstable();
            words.dedup();
            if !words.is_empty() {
                let words: Vec<String> = words.into_iter().map(quoted).collect();
                keys.push((kind.to_owned(), format!("[{}]", words.join(", "))));
            }
        }
        let columns: Vec<String> = keys.into_iter().map(|(key, value)| format!("{key} = {value}")).collect();
        let mut lines = vec!["format = \"columns\"".to_owned()];
        lines.extend(time.map(|at| format!("time_unit = {}", quoted(self.time_unit(at)))));
        lines.push(format!("columns = {{ {} }}", columns.join(", ")));
        Guess { lines }
    }

    /// Bytes where every number is one of whole sectors or the name says so, else sectors.
    fn unit(&self, at: usize) -> u32 {
        let name = self.header.map_or(String::new(), |header| header[at].to_lowercase());
        if name.contains("lba") || name.contains("sector") {
            return 512;
        }
        let mut numbers = self.columns[at].iter().filter_map(|field| field.parse::<u64>().ok()).filter(|&n| n > 0);
        let is_bytes = numbers.clone().next().is_some() && numbers.all(|number| number % 512 == 0);
        if is_bytes || name.contains("byte") || name.contains("offset") {
            1
        } else {
            512
        }
    }

    fn time_unit(&self, at: usize) -> &'static str {
        let name = self.header.map_or(String::new(), |header| header[at].to_lowercase());
        for (ending, unit) in
            [("ns", "ns"), ("nano", "ns"), ("us", "us"), ("micro", "us"), ("ms", "ms"), ("milli", "ms")]
        {
            if name.ends_with(&format!("_{ending}"))
                || name.ends_with(&format!("({ending})"))
                || name.contains("nano") && unit == "ns"
            {
                return unit;
            }
        }
        let has_fraction = self.columns[at].iter().any(|field| field.contains('.'));
        let first = self.columns[at].first().and_then(|field| field.parse::<f64>().ok()).unwrap_or(0.0);
        // The years since 1970, in which unit they would be few.
        match () {
            () if has_fraction || name.ends_with("_s") || name.contains("sec") => "s",
            () if first > 1e17 => "ns",
            () if first > 1e14 => "us",
            () if first > 1e11 => "ms",
            () => "us",
        }
    }
}

/// A text as TOML has it.
fn quoted(text: &str) -> String {
    let mut quoted = String::from("\"");
    for letter in text.chars() {
        match letter {
            '"' | '\\' => quoted.extend(['\\', letter]),
            _ if letter.is_control() => quoted.push_str(&format!("\\u{:04X}", u32::from(letter))),
            _ => quoted.push(letter),
        }
    }
    quoted + "\""
}

fn is_numeric(column: &[&str]) -> bool {
    !column.is_empty() && column.iter().all(|field| field.parse::<f64>().is_ok())
}

fn is_whole(column: &[&str]) -> bool {
    !column.is_empty() && column.iter().all(|field| field.parse::<u64>().is_ok())
}

/// The operation that a word means.
fn word(field: &str) -> Option<&'static str> {
    match field.to_lowercase().as_str() {
        "r" | "rd" | "rs" | "read" | "reads" | "get" => Some("read"),
        "w" | "wr" | "ws" | "write" | "writes" | "put" => Some("write"),
        "t" | "d" | "trim" | "discard" | "unmap" | "delete" => Some("trim"),
        "f" | "flush" | "sync" | "fsync" | "fua" => Some("flush"),
        _ => None,
    }
}

/// What a flag means in most simulators that write 1 for a write.
fn flag(field: &str) -> &'static str {
    match field {
        "0" => "read",
        "1" => "write",
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(text: &str) -> String {
        let lines: Vec<&[u8]> = text.lines().map(str::as_bytes).collect();
        guess(&lines).map_or(String::new(), |guess| guess.lines.join("\n"))
    }

    #[test]
    fn a_header_names_the_columns_and_their_units() {
        let found = told("timestamp,type,offset,length\n1697041234.1,Write,4096,4096\n1697041234.2,Read,8192,512\n");
        assert_eq!(
            found,
            "format = \"columns\"\ntime_unit = \"s\"\ncolumns = { op = \"type\", address = \"offset\", size = \"length\", \
             time = \"timestamp\", address_unit_bytes = 1, size_unit_bytes = 1, read = [\"Read\"], write = [\"Write\"] }"
        );
        let found = told("# of mine\ntime_ms\trw\tsector\tnsectors\n1\tW\t0\t8\n2\tW\t8\t8\n");
        assert!(found.contains("time_unit = \"ms\"") && found.contains("size = \"nsectors\""), "{found}");
        assert!(found.contains("separator = \"tab\"") && found.contains("address_unit_bytes = 512"), "{found}");
    }

    #[test]
    fn without_a_header_numbers_tell_the_columns() {
        let found = told("0 R 100 8\n1 W 9200 16\n2 W 200 16\n");
        let columns = "op = 2, address = 3, size = 4, time = 1, address_unit_bytes = 512";
        assert!(found.contains(columns) && found.contains("separator = \"blanks\""), "{found}");
        // A flag has no meaning of its own; a column without a name that holds some is not taken for one.
        assert_eq!(told("5,1,7\n6,0,7\n9,1,7\n"), "");
        let found = told("0 R 100 8\n1 W 200 16\n2 W 200 16\n");
        assert!(found.contains("op = 2, address = 3, size = 4, time = 1"), "{found}");
        assert!(told("0,W,0,8\n5,R,8,8\n").contains("address = 3, size = 4, time = 1"));
        assert!(told("time;op;lba;size\n0,5;W;10;8\n0,7;R;10;8\n").contains("address = \"lba\""));
        assert!(told("t,op,lba,l\\\u{e4}nge size\n1,W,0,8\n").contains("size = \"l\\\\\u{e4}nge size\""));
        assert!(told("t,op,lba,size\n1,0,5,8\n2,1,9,8\n").contains("read = [\"0\"], write = [\"1\"]"));
    }

    #[test]
    fn what_is_no_table_gives_no_guess() {
        for text in
            ["hello world\n", "{\"op\": \"read\", \"lba\": 5, \"len\": 8}\n", "a,b\n1,2\n", "", "R,W,R\nW,R,W\n"]
        {
            assert_eq!(told(text), "", "{text}");
        }
    }

    #[test]
    fn any_text_is_looked_at_without_harm() {
        let letters = b"0123456789.,;\t RWrw#-+enaif\"\n\n\n\xFF";
        let mut state = 1u64;
        for _ in 0..20_000 {
            let text: Vec<u8> = (0..60)
                .map(|_| {
                    state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                    letters[(state >> 33) as usize % letters.len()]
                })
                .collect();
            let lines: Vec<&[u8]> = text.split(|&byte| byte == b'\n').filter(|line| !line.is_empty()).collect();
            if let Some(guess) = guess(&lines) {
                assert!(guess.lines.last().unwrap().starts_with("columns = { op = "), "{lines:?}");
            }
        }
    }
}
