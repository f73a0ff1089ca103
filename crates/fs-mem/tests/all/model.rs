//! Random operations, compared with a model that is too simple to be wrong.

use std::collections::BTreeMap;
use std::mem::{Discriminant, discriminant};

use vfs::{Error, FileKind};

use crate::shell::Shell;
use testing::Random;

/// Few names, so that most paths meet something.
const NAMES: &[&str] = &["a", "b", "c"];
const MAX_DEPTH: u64 = 3;
const MAX_BYTES: u64 = 20_000;

#[derive(Clone, Debug, PartialEq)]
enum File {
    Directory,
    /// The index into the model's contents: hard links share it.
    Regular(usize),
}

/// All paths that exist, and the contents of regular files.
#[derive(Default)]
struct Model {
    paths: BTreeMap<String, File>,
    contents: Vec<Vec<u8>>,
}

type Outcome<T> = Result<T, Error>;

fn above(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(dir, _)| dir)
}

impl Model {
    fn get(&self, path: &str) -> Outcome<File> {
        if path.is_empty() {
            return Ok(File::Directory);
        }
        self.dir_above(path)?;
        self.paths.get(path).cloned().ok_or(Error::NoEntry)
    }

    fn dir_above(&self, path: &str) -> Outcome<()> {
        match self.get(above(path))? {
            File::Directory => Ok(()),
            File::Regular(_) => Err(Error::NotDirectory),
        }
    }

    fn add(&mut self, path: &str, file: File) -> Outcome<()> {
        self.dir_above(path)?;
        if self.paths.contains_key(path) {
            return Err(Error::Exists);
        }
        self.paths.insert(path.to_owned(), file);
        Ok(())
    }

    fn create(&mut self, path: &str) -> Outcome<()> {
        self.add(path, File::Regular(self.contents.len()))?;
        self.contents.push(Vec::new());
        Ok(())
    }

    fn link(&mut self, path: &str, new: &str) -> Outcome<()> {
        let file = self.get(path)?;
        self.dir_above(new)?;
        match file {
            File::Directory => Err(Error::IsDirectory),
            File::Regular(_) => self.add(new, file),
        }
    }

    fn remove(&mut self, path: &str) -> Outcome<()> {
        match self.get(path)? {
            File::Directory => Err(Error::IsDirectory),
            File::Regular(_) => self.forget(path),
        }
    }

    fn rmdir(&mut self, path: &str) -> Outcome<()> {
        match self.get(path)? {
            File::Regular(_) => Err(Error::NotDirectory),
            File::Directory if !self.below(path).is_empty() => Err(Error::NotEmpty),
            File::Directory => self.forget(path),
        }
    }

    fn forget(&mut self, path: &str) -> Outcome<()> {
        self.paths.remove(path).map(drop).ok_or(Error::NoEntry)
    }

    fn below(&self, path: &str) -> Vec<String> {
        let prefix = format!("{path}/");
        self.paths.keys().filter(|key| path.is_empty() || key.starts_with(&prefix)).cloned().collect()
    }

    fn rename(&mut self, from: &str, to: &str) -> Outcome<()> {
        // Both directories are looked up before either is looked at.
        self.get(above(from))?;
        self.get(above(to))?;
        self.dir_above(from)?;
        self.dir_above(to)?;
        let moved = self.get(from)?;
        if to.starts_with(&format!("{from}/")) {
            return Err(Error::Invalid);
        }
        match (&moved, self.get(to)) {
            (_, Ok(victim)) if from == to || (moved == victim && moved != File::Directory) => return Ok(()),
            (File::Regular(_), Ok(File::Directory)) => return Err(Error::IsDirectory),
            (File::Directory, Ok(File::Regular(_))) => return Err(Error::NotDirectory),
            (File::Directory, Ok(File::Directory)) if !self.below(to).is_empty() => return Err(Error::NotEmpty),
            _ => {}
        }
        for path in self.below(from) {
            let file = self.paths.remove(&path).unwrap();
            self.paths.insert(format!("{to}{}", &path[from.len()..]), file);
        }
        self.paths.remove(from);
        self.paths.insert(to.to_owned(), moved);
        Ok(())
    }

    fn bytes(&mut self, path: &str) -> Outcome<&mut Vec<u8>> {
        match self.get(path)? {
            File::Directory => Err(Error::IsDirectory),
            File::Regular(index) => Ok(&mut self.contents[index]),
        }
    }

    fn write(&mut self, path: &str, offset: usize, data: &[u8]) -> Outcome<()> {
        let bytes = self.bytes(path)?;
        bytes.resize(bytes.len().max(offset + data.len()), 0);
        bytes[offset..offset + data.len()].copy_from_slice(data);
        Ok(())
    }

    fn resize(&mut self, path: &str, size: usize) -> Outcome<()> {
        self.bytes(path).map(|bytes| bytes.resize(size, 0))
    }

    fn links(&self, file: &File) -> usize {
        self.paths.values().filter(|other| *other == file).count()
    }
}

#[derive(Debug)]
enum Step {
    Create(String),
    Mkdir(String),
    Link(String, String),
    Remove(String),
    Rmdir(String),
    Rename(String, String),
    Write(String, u64, Vec<u8>),
    Resize(String, u64),
}

impl Step {
    fn random(random: &mut Random) -> Step {
        let path = |random: &mut Random| {
            let depth = 1 + random.below(MAX_DEPTH);
            (0..depth).map(|_| random.of(NAMES)).collect::<Vec<_>>().join("/")
        };
        let (one, two) = (path(random), path(random));
        match random.below(12) {
            0 => Step::Create(one),
            1 | 2 => Step::Mkdir(one),
            3 => Step::Link(one, two),
            4 => Step::Remove(one),
            5 => Step::Rmdir(one),
            6 | 7 => Step::Rename(one, two),
            8..=10 => {
                let data = vec![random.next() as u8; random.below(MAX_BYTES) as usize + 1];
                Step::Write(one, random.below(MAX_BYTES), data)
            }
            _ => Step::Resize(one, random.below(MAX_BYTES)),
        }
    }

    fn on_model(&self, model: &mut Model) -> Outcome<()> {
        match self {
            Step::Create(path) => model.create(path),
            Step::Mkdir(path) => model.add(path, File::Directory),
            Step::Link(path, new) => model.link(path, new),
            Step::Remove(path) => model.remove(path),
            Step::Rmdir(path) => model.rmdir(path),
            Step::Rename(from, to) => model.rename(from, to),
            Step::Write(path, offset, data) => model.write(path, *offset as usize, data),
            Step::Resize(path, size) => model.resize(path, *size as usize),
        }
    }

    fn on_shell(&self, shell: &Shell) -> Outcome<()> {
        match self {
            Step::Create(path) => shell.create(path).map(drop),
            Step::Mkdir(path) => shell.mkdir(path).map(drop),
            Step::Link(path, new) => shell.link(path, new).map(drop),
            Step::Remove(path) => shell.remove(path),
            Step::Rmdir(path) => shell.rmdir(path),
            Step::Rename(from, to) => shell.rename(from, to),
            Step::Write(path, offset, data) => {
                shell.write(path, *offset, data).map(|count| assert_eq!(count, data.len()))
            }
            Step::Resize(path, size) => shell.resize(path, *size).map(drop),
        }
    }
}

fn verdict(outcome: Outcome<()>) -> Option<Discriminant<Error>> {
    outcome.err().as_ref().map(discriminant)
}

fn compare(shell: &Shell, model: &mut Model, path: &str) {
    let listed: Vec<String> = shell.list(path, 0, usize::MAX).unwrap().into_iter().map(|(name, _)| name).collect();
    let depth = if path.is_empty() { 0 } else { path.len() + 1 };
    let mut names: Vec<String> = model.below(path).iter().map(|below| below[depth..].to_owned()).collect();
    names.retain(|name| !name.contains('/'));
    let mut sorted = listed;
    sorted.sort();
    assert_eq!(sorted, names, "names in {path:?}");
    for name in names {
        let below = if path.is_empty() { name } else { format!("{path}/{name}") };
        let attributes = shell.stat(&below).unwrap();
        match model.get(&below).unwrap() {
            File::Directory => {
                assert_eq!(attributes.kind, FileKind::Directory);
                compare(shell, model, &below);
            }
            file @ File::Regular(_) => {
                assert_eq!(attributes.links as usize, model.links(&file), "links of {below}");
                let bytes = model.bytes(&below).unwrap();
                assert_eq!(attributes.size_bytes, bytes.len() as u64);
                assert!(shell.read(&below, 0, bytes.len() + 1).unwrap() == *bytes, "bytes of {below}");
            }
        }
    }
}

fn run(seed: u64, steps: usize) {
    println!("seed {seed}");
    let (shell, mut model, mut random) = (Shell::new(), Model::default(), Random(seed));
    for number in 0..steps {
        let step = Step::random(&mut random);
        let (expected, got) = (step.on_model(&mut model), step.on_shell(&shell));
        let shown = format!("seed {seed}, step {number}: {got:?} instead of {expected:?}");
        assert_eq!(verdict(got), verdict(expected), "{shown}");
        if number % 16 == 0 {
            compare(&shell, &mut model, "");
        }
    }
    compare(&shell, &mut model, "");
}

#[test]
fn random_operations_do_what_a_naive_model_does() {
    (1..=20).for_each(|seed| run(seed, 2000));
}
