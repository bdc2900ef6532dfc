//! Cache traces: requests for objects with keys instead of places on a device.

use super::guess::Numbered;
use super::vscsi::little;

/// Advice for such a text; `None` for any other.
pub(super) fn text(lines: &[Numbered<'_>]) -> Option<&'static str> {
    let mut meant = lines.iter().map(|(_, line)| line.trim_start_matches('#').trim());
    let names: Vec<String> = meant.next()?.split(',').map(|name| name.trim().to_lowercase()).collect();
    let has = |name: &str| names.iter().any(|known| known == name);
    if has("key") && has("op") && (has("op_count") || has("key_size")) {
        return Some(CACHELIB);
    }
    if ["obj_id", "obj-id", "object_id", "object", "obj", "next_access_vtime"].iter().any(|&name| has(name)) {
        return Some(LIBCACHESIM);
    }
    let is_twitter = |(_, line): &&Numbered<'_>| {
        let cells: Vec<&str> = line.split(',').collect();
        let is_number = |cell: &&str| cell.parse::<u64>().is_ok();
        // A key may contain commas.
        let [time, .., key_size, value_size, client, op, ttl] = cells.as_slice() else { return false };
        cells.len() >= 7 && [time, key_size, value_size, client, ttl].into_iter().all(is_number) && OPS.contains(op)
    };
    let count = lines.iter().filter(is_twitter).count();
    (count > 0 && 2 * count >= lines.len()).then_some(TWITTER)
}

/// memcached operations.
const OPS: [&str; 11] = ["get", "gets", "set", "add", "replace", "cas", "append", "prepend", "delete", "incr", "decr"];

const TWITTER: &str = "This is a trace of Twitter's key-value caches (time, key, sizes of key and value, client, \
                       operation, time to live). Its keys are no places on a device: replay it with a cache on a real device \
                       and record what reaches that with `blktrace -d DEVICE -o - | blkparse -i -`";
const CACHELIB: &str =
    "This is a trace of CacheLib's key-value caches (key, op, size, op_count, key_size). Its keys are no \
                        places on a device: run it with cachebench on a real device and record that with \
                        `blktrace -d DEVICE -o - | blkparse -i -`";
const LIBCACHESIM: &str =
    "This is a trace of objects as libCacheSim reads it. It does not say what is written, and an object \
                           is no place on a device: take the trace that it was made of, such as the blocks of MSR, \
                           CloudPhysics, Alibaba or Tencent, or where its objects are blocks and it has a column of \
                           operations, name the columns in workload.trace.columns with format = \"columns\"";

/// Bytes per record in libCacheSim's oracleGeneral format: seconds (4), object (8), size (4), next access (8).
const ORACLE: usize = 24;

/// Records required in this form.
const FEWEST: usize = 4;

/// Advice for such binary contents; `None` for any other.
pub(super) fn binary(contents: &[u8]) -> Option<&'static str> {
    let records: Vec<(u64, u64, u64, i64)> = contents
        .chunks_exact(ORACLE)
        .take(1024)
        .map(|record| {
            (little(&record[..4]), little(&record[4..12]), little(&record[12..16]), little(&record[16..]) as i64)
        })
        .collect();
    let is_in_order = records.windows(2).all(|pair| pair[0].0 <= pair[1].0);
    // The next access is the number for a later record with the same object.
    let fits = |(number, &(_, object, size, next)): (usize, &(u64, u64, u64, i64))| {
        let is_none = next == -1 || next == i64::MAX;
        let at = |number: i64| usize::try_from(number).ok().and_then(|number| records.get(number));
        // Counted from 0 or from 1.
        let is_it =
            [next, next.saturating_sub(1)].into_iter().any(|next| at(next).is_none_or(|later| later.1 == object));
        size < 1 << 31 && (is_none || next > number as i64 && is_it)
    };
    let all_fit = records.len() >= FEWEST && is_in_order && records.iter().enumerate().all(fits);
    all_fit.then_some(ORACLE_GENERAL)
}

const ORACLE_GENERAL: &str = "this is a trace of libCacheSim in its format oracleGeneral, which is not read: it has the time, \
                              object, size and next access of each request, and not whether it reads or writes. Take the \
                              trace that it was made of, such as that of CloudPhysics (vscsi), MSR, Alibaba or Tencent";

#[cfg(test)]
mod tests {
    use super::*;

    fn oracle(records: &[(u32, u64, u32, i64)]) -> Vec<u8> {
        let bytes = records.iter().flat_map(|(time, object, size, next)| {
            [&time.to_le_bytes()[..], &object.to_le_bytes(), &size.to_le_bytes(), &next.to_le_bytes()].concat()
        });
        bytes.collect()
    }

    #[test]
    fn records_whose_next_access_is_of_the_same_object_are_oracle_general() {
        let records =
            [(5, 77, 4096, 3), (5, 78, 512, -1), (6, 77, 4096, i64::MAX), (9, 80, 512, 5), (9, 80, 512, 900_000)];
        assert!(binary(&oracle(&records)).unwrap().contains("oracleGeneral"));
        assert_eq!(binary(&oracle(&records[..3])), None, "too few to tell");
        let mut other = records;
        other[0].3 = 4;
        assert_eq!(binary(&oracle(&other)), None, "the next access is of another object");
        other = records;
        other[1].0 = 4;
        assert_eq!(binary(&oracle(&other)), None, "time goes back");
        assert_eq!(binary(&[0xAB; 240]), None);
    }
}
