//! Every input of every corpus, run without a fuzzer.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use properties::TARGETS;

fn fuzz_folder() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the properties are in the fuzz folder")
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    entries.map(|entry| entry.expect("a folder that can be read").path()).collect()
}

#[test]
fn every_input_of_every_corpus_keeps_the_property_of_its_target() {
    for (name, property) in TARGETS {
        let inputs = files(&fuzz_folder().join("corpus").join(name));
        let accepted = inputs
            .iter()
            .filter(|path| {
                println!("{}", path.display());
                property(&fs::read(path).unwrap())
            })
            .count();
        assert!(accepted > 0, "no input of {name} gets past the decoder: {inputs:?}");
    }
}

#[test]
fn every_property_has_a_fuzz_target() {
    let stem = |path: PathBuf| path.file_stem().unwrap().to_str().unwrap().to_owned();
    let targets: BTreeSet<String> = files(&fuzz_folder().join("fuzz_targets")).into_iter().map(stem).collect();
    let properties: BTreeSet<String> = TARGETS.iter().map(|(name, _)| (*name).to_owned()).collect();
    assert_eq!(targets, properties);
}
