//! Every buffer with every option set and size, from one page to more than the device, against an array.

use crate::common::{geometry, request, subjects, Rig, SECTOR, SECTORS};
use nandlab_block::{Op, Payload, Request};
use nandlab_nand::nvm::{CountedNvram, NvmCost};
use nandlab_nand::random::Random;

/// Allowed contents of a sector; several after a trim of part of its page.
type Sector = Vec<[u8; SECTOR]>;

fn submit(rig: &mut Rig, model: &mut [Sector], request: &Request, version: u64) {
    let range = request.sector as usize..request.end() as usize;
    let mut bytes = vec![0xEE; range.len() * SECTOR];
    match request.op {
        Op::Write => {
            let contents = |sector: u64| {
                let word = (version << 32 | sector | 1 << 63).to_le_bytes();
                std::iter::repeat_n(word, SECTOR / 8).flatten()
            };
            bytes = (request.sector..request.end()).flat_map(contents).collect();
            rig.submit(request, Payload::Write(&bytes)).unwrap();
            for (sector, bytes) in range.zip(bytes.chunks(SECTOR)) {
                model[sector] = vec![bytes.try_into().unwrap()];
            }
        }
        Op::Read => {
            rig.submit(request, Payload::Read(&mut bytes)).unwrap();
            for (sector, bytes) in range.zip(bytes.chunks(SECTOR)) {
                let read: [u8; SECTOR] = bytes.try_into().unwrap();
                assert!(model[sector].contains(&read), "sector {sector} begins {:?}", &read[..8]);
                model[sector] = vec![read];
            }
        }
        Op::Trim => {
            rig.submit(request, Payload::None).unwrap();
            for sector in range {
                let page = sector as u64 / 4 * 4;
                if request.sector <= page && page + 4 <= request.end() {
                    model[sector].clear();
                }
                model[sector].push([0; SECTOR]);
            }
        }
        Op::Flush | Op::UnitUpdate | Op::Append | Op::Zone(_) => drop(rig.submit(request, Payload::None).unwrap()),
    }
}

#[test]
fn every_buffer_answers_as_an_array_does() {
    for (name, config) in subjects() {
        for seed in 0..2 {
            let mut rig = Rig::new(&config, geometry(), SECTORS);
            let mut model: Vec<Sector> = vec![vec![[0; SECTOR]]; SECTORS as usize];
            let mut random = Random::stream(seed, 77);
            let mut written = 0;
            for step in 0..400 {
                let request = request(&mut random);
                written += u64::from(request.op == Op::Write);
                let context = std::panic::AssertUnwindSafe(|| submit(&mut rig, &mut model, &request, step));
                if let Err(panic) = std::panic::catch_unwind(context) {
                    eprintln!("{name}, seed {seed}, step {step}: {request:?}");
                    std::panic::resume_unwind(panic);
                }
                // After a flush, no DRAM data can be lost.
                let counts = rig.buffer.counts();
                assert!(request.op != Op::Flush || counts.dirty_dram_pages == 0, "{name}: {counts:?}");
                assert!(counts.dirty_dram_pages <= counts.dirty_dram_pages_max);
            }
            assert!(written > 100);
            submit(&mut rig, &mut model, &Request::new(Op::Read, 0, SECTORS as u32), 0);
            let counts = rig.buffer.counts();
            assert!(counts.hits() > 0 || rig.config.name() == "pass_through", "{name}: {counts:?}");
        }
    }
}

#[test]
fn requests_and_counts_are_the_same_without_bytes() {
    for (name, config) in subjects() {
        let mut with = Rig::new(&config, geometry(), SECTORS);
        let mut without = Rig::new(&config, geometry(), SECTORS);
        without.nvram = Box::new(CountedNvram::new(config.nvram_bytes(&geometry()), NvmCost::default()));
        without.buffer = config.mount(&geometry(), &mut *without.nvram).unwrap();
        with.disk.log.clear();
        let mut random = Random::stream(8, 78);
        for _ in 0..600 {
            let request = request(&mut random);
            let mut bytes = vec![1; request.sectors as usize * SECTOR];
            let data = match request.op {
                Op::Write => Payload::Write(&bytes),
                Op::Read => Payload::Read(&mut bytes),
                Op::Trim | Op::Flush | Op::UnitUpdate | Op::Append | Op::Zone(_) => Payload::None,
            };
            with.submit(&request, data).unwrap();
            without.submit(&request, Payload::None).unwrap();
            assert_eq!(with.buffer.counts(), without.buffer.counts(), "{name}: {request:?}");
            assert_eq!(with.nvram.usage(), without.nvram.usage(), "{name}: {request:?}");
        }
        assert_eq!(with.disk.log, without.disk.log, "{name}");
        assert_eq!(with.buffer.placement(), without.buffer.placement(), "{name}");
        assert_eq!(with.buffer.ram(), without.buffer.ram(), "{name}");
    }
}

#[test]
fn what_is_written_back_carries_its_author() {
    use nandlab_block::Author;
    use nandlab_nand::{Origin, PlacementId};
    for (name, config) in subjects() {
        let mut rig = Rig::new(&config, geometry(), SECTORS);
        let mut random = Random::stream(9, 79);
        let mut author = vec![Author::default(); SECTORS as usize];
        let mut written = 0;
        for step in 0..800 {
            let mut request = request(&mut random);
            // A page has one author here, and padding takes its neighbours' author. So use whole pages and no
            // padding.
            if request.op == Op::Trim
                || request.op == Op::Write && (request.sector % 4 != 0 || request.sectors % 4 != 0)
            {
                continue;
            }
            request.origin = Origin((step % 5) as u8);
            if step % 4 > 0 {
                request.placement = PlacementId { group: (step % 2) as u8, handle: (step % 7) as u8 };
            }
            rig.disk.log.clear();
            let before = author.clone();
            if request.op == Op::Write {
                author[request.sector as usize..request.end() as usize].fill(request.author());
            }
            rig.submit(&request, Payload::None).unwrap();
            if rig.buffer.counts().padded_pages > 0 {
                break;
            }
            for sent in rig.disk.log.iter().filter(|sent| sent.op == Op::Write) {
                written += 1;
                for sector in sent.sector as usize..sent.end() as usize {
                    // A write-back during the request may have the old author or the new one.
                    let authors = [before[sector], author[sector]];
                    assert!(authors.contains(&sent.author()), "{name}, step {step}: {sent:?}, {authors:?}");
                }
            }
        }
        let larger = name.ends_with(" 100 pages");
        assert!(written > 10 || larger || name.starts_with("bplru") || name.starts_with("cbm"), "{name}: {written}");
    }
}
