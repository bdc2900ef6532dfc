//! Placement identifiers of fio's jobs, worked by hand from the HOWTO's text.

use crate::fio::{open, play, text};
use crate::support::{setting, Folder};
use nandlab_block::{Op, Request};
use nandlab_nand::{PlacementId, PlacementIds};
use nandlab_workload::fio::Config;
use nandlab_workload::{Options, Setting};
use std::path::Path;

/// The handles of a job's writes; `None` without one.
fn handles(all: &[Request]) -> Vec<Option<u8>> {
    let handle = |placement: PlacementId| placement.is_some().then_some(placement.handle);
    assert!(all.iter().all(|request| !request.placement.is_some() || request.placement.group == 0));
    all.iter().filter(|request| request.op == Op::Write).map(|request| handle(request.placement)).collect()
}

fn requests(jobs: &str) -> Vec<Request> {
    let all = play(open(jobs), |_| 1000);
    assert!(all.iter().all(|request| request.op == Op::Write || !request.placement.is_some()), "{jobs}");
    all
}

/// A job with a scheme in a folder, on a device of 64 MiB.
fn with_scheme(scheme: &str, jobs: &str) -> Result<Vec<Request>, String> {
    let folder = Folder::new("scheme");
    folder.write("scheme.txt", scheme.as_bytes());
    let setting = setting(1 << 17, 1, &folder.path);
    let workload = text(jobs).open(&setting).map_err(|error| error.to_string())?;
    Ok(play(workload, |_| 1000))
}

#[test]
fn writes_take_the_identifiers_of_the_list_in_turn() {
    let job = |keys: &str| format!("[a]\nrw=write\nbs=4k\nsize=28k\n{keys}");
    let in_turn = [1, 2, 5, 1, 2, 5, 1].map(Some);
    // The list is sorted; so fio does it.
    for keys in [
        "fdp=1\nfdp_pli=5,1-2\n",
        "fdp\nplids=1,2,5\nplid_select=roundrobin\n",
        "dataplacement=fdp\nplids= 0x1 , 2 - 2, 5\nfdp_pli_select=roundrobin\n",
        "data_placement=streams\nplids=1-2,5\n",
    ] {
        assert_eq!(handles(&requests(&job(keys))), in_turn, "{keys}");
    }
    for keys in ["", "plids=1,2\n", "fdp=0\nplids=1\n", "dataplacement=none\nplids=1\n"] {
        assert_eq!(handles(&requests(&job(keys))), [None; 7], "{keys}");
    }
    // An identifier that stands twice has two turns of three.
    assert_eq!(handles(&requests(&job("fdp=1\nplids=3,7,3\n"))), [3, 3, 7, 3, 3, 7, 3].map(Some));
}

#[test]
fn each_file_and_each_clone_has_its_own_turn_and_other_requests_take_none() {
    let files = requests("[a]\nrw=write\nbs=4k\nsize=32k\nfilename=x:y\nfdp=1\nplids=1-3\n");
    assert_eq!(handles(&files), [1, 1, 2, 2, 3, 3, 1, 1].map(Some));
    let clones = requests("[a]\nrw=write\nbs=4k\nsize=8k\nnumjobs=2\nfdp=1\nplids=1-3\n");
    assert_eq!(handles(&clones), [1, 1, 2, 2].map(Some));
    let pairs = requests("[a]\nrw=trimwrite\nbs=4k\nsize=12k\nfdp=1\nplids=4,6\n");
    assert_eq!(pairs.iter().map(|one| one.op).collect::<Vec<_>>(), [Op::Trim, Op::Write].repeat(3));
    assert_eq!(handles(&pairs), [4, 6, 4].map(Some));
    let mix = requests("[a]\nrw=randrw\nbs=4k\nsize=400k\nfsync=3\nfdp=1\nplids=0-1\n");
    let found = handles(&mix);
    assert!(found.len() > 20 && mix.len() > found.len() + 20);
    assert!(found.iter().zip([0, 1].into_iter().cycle()).all(|(&handle, turn)| handle == Some(turn)), "{found:?}");
    let jobs = requests("[global]\nsize=4k\nrw=write\nfdp=1\nplids=2\n[a]\n[b]\nplids=3\n[c]\nfdp=0\n[d]\nrw=read\n");
    assert_eq!(handles(&jobs), [Some(2), Some(3), None]);
}

#[test]
fn random_identifiers_are_uniform_and_move_no_request() {
    let job = "[a]\nrw=randrw\nbs=4k\nsize=48m\nnorandommap\n";
    let plain = requests(job);
    let placed = requests(&format!("{job}fdp=1\nplids=2,9-11\nplid_select=random\n"));
    let without = |request: &Request| Request { placement: PlacementId::NONE, ..*request };
    assert!(plain.iter().eq(&placed.iter().map(without).collect::<Vec<_>>()));
    let found = handles(&placed);
    let count = |handle: u8| found.iter().filter(|&&one| one == Some(handle)).count() as f64;
    let mean = found.len() as f64 / 4.0;
    let statistic: f64 = [2, 9, 10, 11].map(|handle| (count(handle) - mean).powi(2) / mean).iter().sum();
    // The 99.9 % point of chi-square with three degrees of freedom.
    assert!(found.len() > 5_000 && statistic < 16.27, "{statistic}");
    assert_eq!(placed, requests(&format!("{job}fdp=1\nplids=2,9-11\nplid_select=random\n")));
}

#[test]
fn a_scheme_goes_by_the_offset_in_the_file() {
    let scheme = "0, 8192, 3\n\n8192,16384,4\n12288, 99999, 5\n";
    let job = "[a]\nrw=write\nbs=4k\nsize=24k\nfdp=1\nplid_select=scheme\ndp_scheme=scheme.txt\n";
    // 12288 is in two lines; the first counts.
    assert_eq!(handles(&with_scheme(scheme, job).unwrap()), [3, 3, 4, 4, 5, 5].map(Some));
    // The job starts at 4 KiB of each file, and the second file lies behind the first.
    let files = format!("{job}offset=4k\nfilename=x:y\n");
    assert_eq!(handles(&with_scheme(scheme, &files).unwrap()), [3, 3, 4, 4, 4, 4].map(Some));
    // What no line has goes to handle 0, and plids is not looked at.
    let short = format!("{job}plids=9\n");
    assert_eq!(handles(&with_scheme("4096,8192,7", &short).unwrap()), [0, 7, 0, 0, 0, 0].map(Some));
    for (scheme, said) in [
        (
            "0, 8192\n",
            "scheme.txt, line 1, column 1: expected start, end and identifier, such as 0, 4096, 1; found `0, 8192`",
        ),
        ("0,8192,1\n0,x,1\n", "scheme.txt, line 2, column 1: expected start, end"),
        ("8192,8192,1\n", "the range from 8192 to 8192 has no byte"),
        ("0,8192,128\n", "the identifier 128 cannot work: a handle is a number from 0 to 127"),
        (&"0,1,1\n".repeat(33), "scheme.txt, line 33, column 1: a scheme has at most 32 lines"),
    ] {
        let error = with_scheme(scheme, job).unwrap_err();
        assert!(error.contains(said), "{error}");
    }
    let missing = with_scheme("", &job.replace("scheme.txt", "other.txt")).unwrap_err();
    assert!(missing.contains("workload.fio.text, line 7, column 11: dp_scheme = other.txt cannot work: "), "{missing}");
}

#[test]
fn a_scheme_lies_beside_its_job_file() {
    let folder = Folder::new("beside");
    std::fs::create_dir(folder.path.join("jobs")).unwrap();
    folder.write("jobs/s.txt", b"0,4096,6\n");
    folder.write("jobs/a.fio", b"[a]\nrw=write\nsize=4k\nfdp=1\nplid_select=scheme\ndp_scheme=s.txt\n");
    let config = Config { path: Some("jobs/a.fio".to_owned()), ..Config::default() };
    let setting = setting(1 << 17, 1, &folder.path);
    assert_eq!(handles(&play(config.open(&setting).unwrap(), |_| 1000)), [Some(6)]);
}

/// The groups and handles of a job's writes on a device with 2 groups of 3 handles.
fn on_two_groups(keys: &str) -> Result<Vec<(u8, u8)>, String> {
    let placements = Some(PlacementIds { groups: 2, handles: 3 });
    let setting = Setting { placements, ..setting(1 << 17, 1, Path::new("")) };
    let workload = text(&format!("[a]\nrw=write\nbs=4k\nsize=28k\n{keys}")).open(&setting);
    let all = play(workload.map_err(|error| error.to_string())?, |_| 1000);
    Ok(all.iter().map(|request| (request.placement.group, request.placement.handle)).collect())
}

/// The list of such a device: group 0 and 1 of handle 0, of handle 1, of handle 2.
#[test]
fn a_job_names_places_in_the_list_of_the_device_or_has_all_of_it() {
    let all = [(0, 0), (1, 0), (0, 1), (1, 1), (0, 2), (1, 2), (0, 0)];
    assert_eq!(on_two_groups("fdp=1\n").unwrap(), all);
    assert_eq!(on_two_groups("fdp=1\nplids=1,4\n").unwrap()[..3], [(1, 0), (0, 2), (1, 0)]);
    let random = on_two_groups("fdp=1\nplid_select=random\n").unwrap();
    assert!(random.iter().all(|id| all.contains(id)) && random != all);
    assert_eq!(on_two_groups("dataplacement=streams\nplids=1\n").unwrap()[0], (0, 1), "a stream has its own number");
    let behind = on_two_groups("fdp=1\nplids=5,6\n").unwrap_err();
    assert!(behind.contains("the job [a] cannot work: plids names place 6, and the device's list"), "{behind}");
    assert!(behind.contains("has the places 0 to 5"), "{behind}");
    // Without identifiers in the FTL nothing is asked of it.
    assert_eq!(handles(&requests("[a]\nrw=write\nbs=4k\nsize=8k\nfdp=1\n")), [None, None]);
}

#[test]
fn jobs_that_place_nothing_or_too_much_get_a_sentence() {
    let refused = |keys: &str| with_scheme("", &format!("[a]\nrw=write\nsize=4k\n{keys}")).unwrap_err();
    for (keys, said) in [
        ("dataplacement=streams\n", "the job [a] cannot work: plids names its streams"),
        ("fdp=1\ndataplacement=streams\nplids=1\n", "fdp = 1 is dataplacement = fdp, and it has another one"),
        ("fdp=1\ndataplacement=none\nplids=1\n", "fdp = 1 is dataplacement = fdp"),
        ("fdp=2\n", "line 4, column 5: fdp = 2 cannot work: expected 1 or 0"),
        ("dataplacement=zns\n", "dataplacement = zns cannot work: expected none, fdp or streams"),
        ("plid_select=first\n", "plid_select = first cannot work: expected random, roundrobin or scheme"),
        ("fdp=1\nplid_select=scheme\n", "plid_select = scheme needs dp_scheme"),
        ("dp_scheme=\n", "dp_scheme =  cannot work: it names a file"),
        ("plids=128\n", "plids = 128 cannot work: a handle is a number from 0 to 127"),
        ("plids=120-130\n", "a handle is a number from 0 to 127"),
        ("plids=4-2\n", "plids = 4-2 cannot work: the range 4-2 ends before it starts"),
        ("plids=1,,2\n", "plids = 1,,2 cannot work: expected numbers and ranges between commas, such as 1,2-4"),
        ("fdp_pli=x\n", "fdp_pli = x cannot work: expected numbers and ranges"),
        ("plids=0-127,3\n", "a list has at most 128 identifiers"),
    ] {
        let error = refused(keys);
        assert!(error.contains(said), "{keys}: {error}");
    }
}
