use super::*;

#[test]
fn numbers_of_every_length() {
    for value in [0, 1, 127, 128, 16_383, 16_384, u64::from(u32::MAX), 1 << 62, u64::MAX] {
        let mut bytes = Vec::new();
        put(&mut bytes, value);
        let mut body = Body { bytes: &bytes, at: 0 };
        assert_eq!(body.number(), Ok(value));
        assert_eq!(body.at, bytes.len());
    }
    let too_long = [0xFF; 10];
    assert!(Body { bytes: &too_long, at: 0 }.number().is_err());
}

#[test]
fn a_header_says_its_version_and_damage() {
    let header = Writer::new(Vec::new(), false).unwrap().out;
    assert_eq!(check_header(&header), Ok(VERSION));
    assert_eq!(check_header(&Writer::new(Vec::new(), true).unwrap().out), Ok(PLACED));
    let mut damaged = header.clone();
    damaged[8] = 3;
    assert!(check_header(&damaged).unwrap_err().contains("checksum"));
    let sum = checksum(&damaged[..12]).to_le_bytes();
    damaged[12..].copy_from_slice(&sum);
    assert!(check_header(&damaged).unwrap_err().contains("version 3 of the native format, expected 1 or 2"));
}

#[test]
fn a_placement_stands_once_until_it_changes() {
    let write = |sector, placement| Request { placement, ..Request::new(Op::Write, sector, 8) };
    let far = PlacementId { group: 1, handle: 5 };
    let requests = [
        write(0, PlacementId::NONE),
        write(8, far),
        Request::new(Op::Read, 16, 8),
        write(24, far),
        Request { placement: far, ..Request::new(Op::UnitUpdate, 0, 0) },
        Request::new(Op::Flush, 0, 0),
        write(32, PlacementId::NONE),
    ];
    let mut writer = Writer::new(Vec::new(), true).unwrap();
    requests.iter().for_each(|request| writer.write(request, b"").unwrap());
    // By hand: tags (1 write, 3 flush or update, 4 follows, 8 same sectors, 64 same time, 128 placement), 8, and 262.
    let (write, placed, update) = (1 + 4 + 8 + 64, [1 + 4 + 8 + 64 + 128, 0x86, 2], [3 + 64 + 128, 0x86, 2]);
    let expected = [&[1 + 4 + 64, 8], &placed[..], &[4 + 8 + 64, write], &update, &[3 + 64, write + 128, 0]].concat();
    assert_eq!(writer.body, expected);
    let mut native = Native::new(&ReaderOptions::default());
    let mut at = 0;
    for request in requests {
        let Line::Request(found) = native.record(&expected[at..]).unwrap() else { panic!("at {at}") };
        assert_eq!(found.request, request);
        at += native.taken();
    }
    assert_eq!(at, expected.len());
}

#[test]
fn what_is_no_placement_is_refused() {
    let mut native = Native::new(&ReaderOptions::default());
    for number in [129, 65_536, 1 << 20, u64::MAX] {
        let mut bytes = vec![1 + 4 + 64 + HAS_PLACEMENT];
        put(&mut bytes, number);
        bytes.push(8);
        let said = native.record(&bytes).unwrap_err().message;
        assert!(said.contains(&format!("the number of a placement, found {number}")), "{said}");
    }
    // A file of version 1 has the bit free.
    native.header(&Writer::new(Vec::new(), false).unwrap().out).unwrap();
    assert!(native.record(&[1 + 4 + 64 + HAS_PLACEMENT, 1, 8]).unwrap_err().message.contains("first byte"));
}
