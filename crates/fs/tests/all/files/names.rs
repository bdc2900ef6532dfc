//! Long and short names of FAT, as the kernel's `vfat` has them.

use super::disk::Disk;
use super::tools::{are_installed, expect_success};
use nandlab_fs::fat::{Config, Fat};
use nandlab_fs::{FileSystem, FsError};

fn put(fs: &mut dyn FileSystem, path: &str, text: &str) {
    let file = fs.create(path).unwrap();
    fs.write(file, 0, text.as_bytes()).unwrap();
    fs.close(file).unwrap();
}

fn get(fs: &mut dyn FileSystem, path: &str) -> String {
    let file = fs.open(path).unwrap();
    let mut bytes = vec![0; fs.len(file).unwrap() as usize];
    fs.read(file, 0, &mut bytes).unwrap();
    fs.close(file).unwrap();
    String::from_utf8(bytes).unwrap()
}

fn on_a_volume(work: impl FnOnce(&mut Fat<'_, '_>)) -> Disk {
    let config = Config::default();
    let mut disk = Disk::new(4 << 20);
    config.format(&mut disk).unwrap();
    config.mounted(&mut disk, work).unwrap();
    disk
}

/// Short names by file, as the bytes of the root directory of a volume of the default options have them.
fn short_names(disk: &Disk) -> Vec<String> {
    let name = |entry: &[u8]| String::from_utf8_lossy(&entry[..11]).into_owned();
    let entries = disk.bytes.chunks(32).filter(|entry| entry[11] == 0 || entry[11] == 0x20);
    entries.filter(|entry| entry[0].is_ascii_graphic() && entry[..8].contains(&b'~')).map(name).collect()
}

/// Contents that cannot be taken for a short name.
fn text_of(name: &str) -> String {
    name.replace('~', "-")
}

const LONG: &str = "long file name.txt";
const SHORT: &str = "LONGFI~1.TXT";

#[test]
fn a_name_that_looks_like_a_short_one_takes_it_and_the_next_long_name_another() {
    let disk = on_a_volume(|fs| {
        put(fs, SHORT, "short");
        put(fs, LONG, "long");
        assert_eq!((get(fs, SHORT), get(fs, LONG)), ("short".into(), "long".into()));
        assert_eq!(fs.list("").unwrap(), [SHORT, LONG]);
        assert_eq!(get(fs, "longfi~2.txt"), "long");
    });
    assert_eq!(short_names(&disk), ["LONGFI~1TXT", "LONGFI~2TXT"]);
}

/// As the kernel does: the short name finds the file, so no second one can be made under it.
#[test]
fn a_short_name_means_the_file_that_has_it() {
    let disk = on_a_volume(|fs| {
        put(fs, LONG, "long");
        let (one, two) = (fs.open(LONG).unwrap(), fs.open("longfi~1.txt").unwrap());
        fs.write(one, 4, b", by one").unwrap();
        fs.write(two, 12, b", by two").unwrap();
        assert_eq!(fs.unlink(SHORT), Err(FsError::Busy { path: LONG.to_owned() }));
        assert_eq!((fs.len(one), fs.len(two)), (Ok(20), Ok(20)));
        fs.close(one).unwrap();
        fs.close(two).unwrap();
        assert_eq!(get(fs, SHORT), "long, by one, by two");
        assert_eq!(fs.spelling(SHORT).unwrap(), LONG);
        assert!(matches!(fs.mkdir(SHORT), Err(FsError::Exists { .. })));
        // Onto its own other name: nothing happens.
        fs.rename(LONG, SHORT).unwrap();
        assert_eq!(fs.list("").unwrap(), [LONG]);
        put(fs, SHORT, "new");
        assert_eq!((fs.list("").unwrap(), get(fs, LONG)), (vec![LONG.to_owned()], "new".into()));
        fs.unlink(SHORT).unwrap();
        assert_eq!(fs.list("").unwrap(), [""; 0]);
        put(fs, SHORT, "now it is free");
    });
    assert_eq!(short_names(&disk), ["LONGFI~1TXT"]);
}

#[test]
fn directories_are_found_by_their_short_names_on_the_way() {
    on_a_volume(|fs| {
        fs.mkdir("a long directory").unwrap();
        put(fs, "ALONGD~1/file~", "below");
        assert_eq!(get(fs, "a long directory/file~"), "below");
        let open = fs.open("a long directory/file~").unwrap();
        assert!(matches!(fs.rename("ALONGD~1", "b"), Err(FsError::Busy { .. })));
        fs.close(open).unwrap();
        assert!(matches!(fs.rename("a long directory", "alongd~1/x"), Err(FsError::BadName { .. })));
        fs.rename("ALONGD~1", "b~").unwrap();
        assert_eq!(get(fs, "B~/FILE~"), "below");
        assert_eq!(fs.open("nothing~1/x"), Err(FsError::NotFound { path: "nothing~1".into() }));
    });
}

#[test]
fn dots_at_the_end_are_dropped_and_a_space_may_stand_first() {
    on_a_volume(|fs| {
        put(fs, "dots...", "dots");
        put(fs, " space", "space");
        assert_eq!(fs.list("").unwrap(), [" space", "dots"]);
        assert_eq!((get(fs, "DOTS"), get(fs, " SPACE")), ("dots".into(), "space".into()));
        assert_eq!(fs.spelling("dots."), Ok("dots".into()));
        fs.mkdir("d.").unwrap();
        put(fs, "d./e.", "e");
        assert_eq!(get(fs, "d/e"), "e");
    });
}

/// Names that editors and office programs make, and many that share the start of a short name.
#[test]
fn fsck_finds_no_fault_and_mtools_reads_names_with_a_tilde() {
    if !are_installed(&["fsck.vfat", "mtype", "mcopy"]) {
        return;
    }
    let mut names: Vec<String> =
        ["~dmtmp", "~$letter.docx", "file~", "a~1", "~", "~1", "A~~B.~~~", ".~lock.x.odt#", "x~1.y~1", " first"]
            .map(String::from)
            .into();
    for number in 1..30 {
        names.push(format!("LONGFI~{number}.TXT"));
        names.push(format!("long file {number}.txt"));
        names.push(format!("lo{number:04X}~1.txt"));
        names.push(format!("+{number}"));
    }
    for backwards in [false, true] {
        let mut order = names.clone();
        if backwards {
            order.reverse();
        }
        let mut made = Vec::new();
        let disk = on_a_volume(|fs| {
            fs.mkdir("d").unwrap();
            for name in &order {
                let path = format!("d/{name}");
                // Some are the short name of a file that is there.
                if fs.stat(&path).is_err() {
                    put(fs, &path, &text_of(name));
                    made.push(name.clone());
                }
            }
            for name in &made {
                assert_eq!(get(fs, &format!("d/{name}")), text_of(name));
            }
            let mut sorted = made.clone();
            sorted.sort();
            assert_eq!(fs.list("d").unwrap(), sorted);
        });
        assert!(made.len() > names.len() - 30, "{} of {}", made.len(), names.len());
        let folder = tempfile::tempdir().unwrap();
        let (image, out) = (folder.path().join("image"), folder.path().join("out"));
        std::fs::write(&image, &disk.bytes).unwrap();
        std::fs::create_dir(&out).unwrap();
        let image_name = image.to_str().unwrap();
        expect_success("fsck.vfat", &["-n", "-v", image_name], "names");
        expect_success("mcopy", &["-s", "-n", "-i", image_name, "::/d", out.to_str().unwrap()], "names");
        for name in &made {
            assert_eq!(std::fs::read_to_string(out.join("d").join(name)).unwrap(), text_of(name));
        }
        assert_eq!(std::fs::read_dir(out.join("d")).unwrap().count(), made.len());
        let mut short = short_names(&disk);
        short.sort();
        short.dedup();
        let all = short.len();
        assert_eq!(all, short_names(&disk).len(), "no two are the same");
    }
}

/// mtools made the volume's names, so their short names are its own.
#[test]
fn short_names_that_mtools_made_are_not_taken_again() {
    if !are_installed(&["mkfs.vfat", "fsck.vfat", "mcopy"]) {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let (image, text) = (folder.path().join("image"), folder.path().join("text"));
    let image_name = image.to_str().unwrap();
    std::fs::write(&text, "mtools").unwrap();
    expect_success("mkfs.vfat", &["-C", image_name, "1440"], "names");
    for name in [LONG, "long file number two.txt"] {
        expect_success("mcopy", &["-i", image_name, text.to_str().unwrap(), &format!("::/{name}")], "names");
    }
    let mut disk = Disk::of(std::fs::read(&image).unwrap());
    let work = |fs: &mut Fat<'_, '_>| {
        put(fs, "long file number three.txt", "ours");
        assert_eq!((get(fs, LONG), get(fs, SHORT)), ("mtools".into(), "mtools".into()));
        assert_eq!(get(fs, "LONGFI~3.TXT"), "ours");
    };
    Config::default().mounted(&mut disk, work).unwrap();
    std::fs::write(&image, &disk.bytes).unwrap();
    expect_success("fsck.vfat", &["-n", "-v", image_name], "names");
}
