//! Dates and times as text: `2024-05-31 12:30:00.25`, `2024-05-31T12:30:00+02:00`, `12:30:00`; the month first between
//! slashes (`05/31/2024`), the day first between points (`31.05.2024`).

use super::{Fields, MAX_TIME};
use nandlab_nand::Time;

const SECOND: u64 = 1_000_000_000;
const DAY_S: u64 = 86_400;

/// Nanoseconds since 1970, or since midnight without a date. A time without a zone is UTC. A blank, `T` or `t` follows
/// a date; `AM` or `PM` may follow the time. `None` for any other text, and before 1970 or after 2262.
pub(super) fn date_time(fields: &mut Fields<'_>) -> Option<Time> {
    let (first, digits) = digits(fields)?;
    let mut seconds = 0;
    let mut hour = first;
    if let Some(sign @ (b'-' | b'/' | b'.')) = fields.peek().filter(|&sign| digits == 4 || digits < 3 && sign != b'-') {
        seconds = date(fields, first, digits, sign)? * DAY_S;
        if !matches!(fields.peek(), Some(b'T' | b't' | b' ')) {
            return Some(seconds * SECOND).filter(|&time| time <= MAX_TIME);
        }
        fields.at += 1;
        hour = self::digits(fields).filter(|&(_, digits)| digits <= 2)?.0;
    } else if digits > 2 {
        return None;
    }
    let minute = after(fields, b':')?;
    let second = if fields.peek() == Some(b':') { after(fields, b':')? } else { 0 };
    let part = fraction(fields)?;
    let hour = of_day(fields, hour)?;
    // A leap second is the next minute's first second.
    if hour > 23 || minute > 59 || second > 60 {
        return None;
    }
    seconds += hour * 3600 + minute * 60 + second;
    let seconds = zone(fields, seconds)?;
    seconds.checked_mul(SECOND).map(|time| time + part).filter(|&time| time <= MAX_TIME)
}

/// Days from 1970 to a date; its first number, with `count` digits, stands before the first `sign`.
fn date(fields: &mut Fields<'_>, first: u64, count: usize, sign: u8) -> Option<u64> {
    let second = after(fields, sign)?;
    if count == 4 {
        return days(first, second, after(fields, sign)?);
    }
    (fields.peek() == Some(sign)).then(|| fields.at += 1)?;
    let year = digits(fields).filter(|&(_, digits)| digits == 4)?.0;
    if sign == b'/' {
        days(year, first, second)
    } else {
        days(year, second, first)
    }
}

/// The hour in the day; `AM` or `PM` may follow a time.
fn of_day(fields: &mut Fields<'_>, hour: u64) -> Option<u64> {
    let rest = &fields.line[fields.at..];
    let blanks = usize::from(rest.first() == Some(&b' '));
    let Some(&[half, b'M' | b'm']) = rest.get(blanks..blanks + 2) else { return Some(hour) };
    let noon = match half {
        b'A' | b'a' => 0,
        b'P' | b'p' => 12,
        _ => return Some(hour),
    };
    fields.at += blanks + 2;
    (1..=12).contains(&hour).then_some(hour % 12 + noon)
}

/// A number with at most nine digits, and its digit count.
fn digits(fields: &mut Fields<'_>) -> Option<(u64, usize)> {
    let start = fields.at;
    let number = fields.number("digits", 999_999_999).ok()?;
    Some((number, fields.at - start))
}

/// The one-digit or two-digit number behind `sign`.
fn after(fields: &mut Fields<'_>, sign: u8) -> Option<u64> {
    (fields.peek() == Some(sign)).then(|| fields.at += 1)?;
    digits(fields).filter(|&(_, digits)| digits <= 2).map(|(number, _)| number)
}

/// Nanoseconds behind a point; 0 without one.
fn fraction(fields: &mut Fields<'_>) -> Option<u64> {
    if fields.peek() != Some(b'.') {
        return Some(0);
    }
    fields.at += 1;
    let start = fields.at;
    let (mut part, mut place) = (0, SECOND);
    while let Some(digit) = fields.peek().filter(u8::is_ascii_digit) {
        place /= 10;
        part += u64::from(digit - b'0') * place;
        fields.at += 1;
    }
    (fields.at > start).then_some(part)
}

/// Seconds in UTC: `Z`, or `+02:00`, `-0500` or `+01` behind a zone's time; a blank may stand before it.
fn zone(fields: &mut Fields<'_>, seconds: u64) -> Option<u64> {
    let rest = &fields.line[fields.at..];
    if rest.starts_with(b" UTC") {
        fields.at += 4;
        return Some(seconds);
    }
    if matches!(rest, [b' ', b'+' | b'-', b'0'..=b'9', b'0'..=b'9', ..]) {
        fields.at += 1;
    }
    let sign = match fields.peek() {
        Some(b'Z' | b'z') => {
            fields.at += 1;
            return Some(seconds);
        }
        Some(sign @ (b'+' | b'-')) => sign,
        _ => return Some(seconds),
    };
    fields.at += 1;
    let (hours, minutes) = match digits(fields)? {
        (hours, 1 | 2) if fields.peek() == Some(b':') => (hours, after(fields, b':')?),
        (hours, 1 | 2) => (hours, 0),
        (both, 4) => (both / 100, both % 100),
        _ => return None,
    };
    let offset = (hours <= 23 && minutes <= 59).then_some(hours * 3600 + minutes * 60)?;
    if sign == b'+' {
        seconds.checked_sub(offset)
    } else {
        Some(seconds + offset)
    }
}

/// Days from 1 January 1970 to a Gregorian date.
fn days(year: u64, month: u64, day: u64) -> Option<u64> {
    let is_leap = |year: u64| year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let lengths = [31, if is_leap(year) { 29 } else { 28 }, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
    let length = *lengths.get(usize::try_from(month).ok()?.checked_sub(1)?)?;
    if !(1970..=2262).contains(&year) || !(1..=length).contains(&day) {
        return None;
    }
    let leaps_before = |year: u64| (year - 1) / 4 - (year - 1) / 100 + (year - 1) / 400;
    let years = (year - 1970) * 365 + leaps_before(year) - leaps_before(1970);
    Some(years + lengths[..month as usize - 1].iter().sum::<u64>() + day - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Option<Time> {
        let mut fields = Fields::new(text.as_bytes());
        date_time(&mut fields).filter(|_| fields.at == text.len())
    }

    #[test]
    fn dates_are_those_that_the_program_date_prints() {
        // `date --utc --date TEXT +%s`
        for (text, seconds) in [
            ("1970-01-01 00:00:00", 0),
            ("2000-02-29 12:00:00", 951_825_600),
            ("2024-05-31T12:30:00Z", 1_717_158_600),
            ("2024-05-31T12:30:00+02:00", 1_717_151_400),
            ("2024-05-31 12:30:00-0530", 1_717_178_400),
            ("2024/03/01", 1_709_251_200),
            ("2100-03-01T00:00", 4_107_542_400),
            ("2261-12-31 23:59:59", 9_214_646_399),
            ("05/31/2024 12:30:00 PM", 1_717_158_600),
            ("5/1/2024 12:05am", 1_714_521_900),
            ("31.05.2024 12:30", 1_717_158_600),
            ("2024-05-31 12:30:00 UTC", 1_717_158_600),
            ("2024-05-31 12:30:00 +0200", 1_717_151_400),
        ] {
            assert_eq!(read(text), Some(seconds * SECOND), "{text}");
        }
        assert_eq!(read("2024-05-31 12:30:00.25"), Some(1_717_158_600_250_000_000));
        assert_eq!(read("0:00:01.0000000019"), Some(1_000_000_001));
    }

    #[test]
    fn what_is_no_date_is_none() {
        for text in [
            "",
            "5",
            "12",
            "12.5",
            "2024",
            "2024-13-01",
            "2023-02-29",
            "2024-05-31 25:00",
            "2024-05-31 12",
            "24:00",
            "12:60",
            "12:30:61",
            "12:30:",
            "12:30:00.",
            "1969-12-31",
            "2263-01-01",
            "1970-01-01T00:00+01:00",
            "x",
            "2024-05-31T",
            "2024-05/31",
            "99999999999999999999-01-01",
            "12:30+24",
            "12:30+1234567",
            "31/05/2024 12:30",
            "05.31.2024",
            "05/31/24",
            "05/31/2024 13:00 PM",
            "0:30 AM",
            "12.05",
            "12:30:00 -",
        ] {
            assert_eq!(read(text), None, "{text}");
        }
    }
}
