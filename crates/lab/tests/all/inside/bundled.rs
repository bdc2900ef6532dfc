//! What tests ask of the lists in `src/bundled.rs`.

use nandlab_lab::bundled::Bundled;

/// Fails unless `list` has every file of the folder with this extension, in name order.
pub fn assert_complete(list: &[Bundled], folder: &str, ending: &str) {
    let folder = format!("{}/../../{folder}", env!("CARGO_MANIFEST_DIR"));
    let mut files: Vec<String> = std::fs::read_dir(folder)
        .expect("the folder of the sources is there")
        .map(|entry| entry.expect("its entries can be read").file_name().to_string_lossy().into_owned())
        .filter_map(|name| name.strip_suffix(ending).map(str::to_owned))
        .collect();
    files.sort();
    assert_eq!(files, list.iter().map(|file| file.name).collect::<Vec<_>>());
}
