use std::collections::{BTreeSet, HashSet};
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use measure::record::{Measurement, Run};

use super::planned::Planned;

/// The head of a record.
const RUN_FILE: &str = "run.json";
/// A line for each pass.
const SAMPLES_FILE: &str = "samples.jsonl";
/// The same of a run that is kept, compressed.
const KEPT_SAMPLES_FILE: &str = "samples.jsonl.gz";

/// Why the folder of a run cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FolderError {
    /// A file in it cannot be read or written.
    #[error("{}: {source}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// There is no record of a run.
    #[error("{} is no folder of a run: it has no {RUN_FILE}; `wharf lab run NAME --out DIR` makes one", path.display())]
    NoRun {
        /// The folder.
        path: PathBuf,
    },
    /// A file in it is not what this program writes.
    #[error("{}, line {line}: {source}; take another folder for a new run", path.display())]
    Format {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
        /// What is wrong with it.
        source: serde_json::Error,
    },
    /// The passes in it are of another run.
    #[error("{} has a run with another {what}: {was} then, {is} now; repeat that command to resume it, or take another folder", path.display())]
    Different {
        /// The folder.
        path: PathBuf,
        /// What differs.
        what: String,
        /// What it was.
        was: String,
        /// What it is.
        is: String,
    },
    /// The run in it is kept: it has ended.
    #[error("{} has a run that is kept, with compressed samples; it does not go on, so take another folder", path.display())]
    Kept {
        /// The folder.
        path: PathBuf,
    },
    /// A run is to be kept in the folder of one that may go on.
    #[error("{} has the samples of a run already; keep runs in another folder", path.display())]
    Plain {
        /// The folder.
        path: PathBuf,
    },
    /// Another process writes to it.
    #[error("{} is in use by another run; wait for its end, or take another folder", path.display())]
    InUse {
        /// The folder.
        path: PathBuf,
    },
}

/// The folder that a run leaves: its head, and every pass as soon as it has ended.
#[derive(Debug)]
pub struct RunFolder {
    path: PathBuf,
    run: Run,
    passes: Vec<Measurement>,
    /// The positions of passes that need not be done again.
    done: HashSet<u32>,
    samples: File,
}

/// Reads the record of a run, also of one that is kept.
///
/// # Errors
/// When there is none, or it is not what this program writes.
pub fn read_run(folder: &Path) -> Result<(Run, Vec<Measurement>), FolderError> {
    let run = read_head(folder)?.ok_or_else(|| FolderError::NoRun { path: folder.to_owned() })?;
    let (plain, kept) = (folder.join(SAMPLES_FILE), folder.join(KEPT_SAMPLES_FILE));
    let is_kept = !plain.exists() && kept.exists();
    let path = if is_kept { kept } else { plain };
    let file = File::open(&path).map_err(failed(&path))?;
    let (passes, _) = if is_kept { read_passes(&path, GzDecoder::new(file))? } else { read_passes(&path, file)? };
    Ok((run, passes))
}

/// Writes the record of a run to a folder where it is kept, for [`read_run`]: its head, and its samples compressed.
/// The same passes have the same bytes.
///
/// # Errors
/// When the folder cannot be written.
pub fn keep_run(folder: &Path, run: &Run, passes: &[Measurement]) -> Result<(), FolderError> {
    fs::create_dir_all(folder).map_err(failed(folder))?;
    if folder.join(SAMPLES_FILE).exists() {
        return Err(FolderError::Plain { path: folder.to_owned() });
    }
    write_head(folder, run)?;
    let path = folder.join(KEPT_SAMPLES_FILE);
    let write = || {
        let mut samples = GzEncoder::new(File::create(&path)?, Compression::best());
        for pass in passes {
            samples.write_all(&line_of(pass)?)?;
        }
        samples.finish()?.sync_all()
    };
    write().map_err(failed(&path))
}

fn failed(path: &Path) -> impl FnOnce(io::Error) -> FolderError {
    let path = path.to_owned();
    move |source| FolderError::File { path, source }
}

impl RunFolder {
    /// Makes the folder of a run, or goes on with the run that is in it already.
    ///
    /// # Errors
    /// When that is another run, or the folder cannot be used.
    pub fn open(path: &Path, run: Run) -> Result<RunFolder, FolderError> {
        fs::create_dir_all(path).map_err(failed(path))?;
        if path.join(KEPT_SAMPLES_FILE).exists() {
            return Err(FolderError::Kept { path: path.to_owned() });
        }
        let samples_path = path.join(SAMPLES_FILE);
        let samples = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(&samples_path);
        let samples = samples.map_err(failed(&samples_path))?;
        match samples.try_lock() {
            Err(TryLockError::WouldBlock) => return Err(FolderError::InUse { path: path.to_owned() }),
            Err(TryLockError::Error(source)) => return Err(failed(&samples_path)(source)),
            Ok(()) => {}
        }
        let (passes, end) = read_passes(&samples_path, &samples)?;
        let run = match read_head(path)? {
            Some(earlier) => resumed(path, earlier, run)?,
            None => run,
        };
        write_head(path, &run)?;
        // An incomplete line, left by a crash, is removed; its pass is done again.
        samples.set_len(end).and_then(|()| (&samples).seek(SeekFrom::End(0))).map_err(failed(&samples_path))?;
        let done = passes.iter().filter(|pass| !pass.is_repeated).map(|pass| pass.place.position).collect();
        Ok(RunFolder { path: path.to_owned(), run, passes, done, samples })
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The head of the record.
    pub fn run(&self) -> &Run {
        &self.run
    }

    /// The passes so far, in the order in which they were done.
    pub fn passes(&self) -> &[Measurement] {
        &self.passes
    }

    /// How many passes need not be done again.
    pub(super) fn done(&self) -> u32 {
        self.done.len() as u32
    }

    /// Whether a pass need not be done again.
    pub(super) fn has(&self, planned: &Planned) -> bool {
        self.done.contains(&planned.place.position)
    }

    /// Appends a pass; it is in the file when this returns.
    pub(super) fn append(&mut self, pass: Measurement) -> Result<&Measurement, FolderError> {
        let written = line_of(&pass).and_then(|line| self.samples.write_all(&line));
        written.map_err(failed(&self.path.join(SAMPLES_FILE)))?;
        if !pass.is_repeated {
            self.done.insert(pass.place.position);
        }
        self.passes.push(pass);
        Ok(&self.passes[self.passes.len() - 1])
    }
}

/// The line of a pass.
fn line_of(pass: &Measurement) -> io::Result<Vec<u8>> {
    let mut line = serde_json::to_vec(pass)?;
    line.push(b'\n');
    Ok(line)
}

fn read_head(folder: &Path) -> Result<Option<Run>, FolderError> {
    let path = folder.join(RUN_FILE);
    let text = match fs::read_to_string(&path) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(source) => return Err(FolderError::File { path, source }),
    };
    let run = serde_json::from_str(&text);
    run.map(Some).map_err(|source| FolderError::Format { line: source.line(), path, source })
}

/// Writes the head beside its place and renames it, so that a crash leaves the old one or the new one.
fn write_head(folder: &Path, run: &Run) -> Result<(), FolderError> {
    let (path, new) = (folder.join(RUN_FILE), folder.join("run.json.new"));
    let write = || {
        let text = serde_json::to_string_pretty(run)? + "\n";
        fs::write(&new, text).and_then(|()| fs::rename(&new, &path))
    };
    write().map_err(failed(&path))
}

/// The passes in whole lines, and where these end.
fn read_passes(path: &Path, file: impl Read) -> Result<(Vec<Measurement>, u64), FolderError> {
    let (mut passes, mut end, mut line) = (Vec::new(), 0, Vec::new());
    let mut reader = BufReader::new(file);
    loop {
        line.clear();
        let read = reader.read_until(b'\n', &mut line);
        read.map_err(failed(path))?;
        if line.last() != Some(&b'\n') {
            return Ok((passes, end));
        }
        let number = passes.len() + 1;
        let pass = serde_json::from_slice(&line);
        passes.push(pass.map_err(|source| FolderError::Format { path: path.to_owned(), line: number, source })?);
        end += line.len() as u64;
    }
}

/// The run that goes on: it began when the earlier one did, and may have more rounds or fewer.
fn resumed(path: &Path, earlier: Run, run: Run) -> Result<Run, FolderError> {
    let different =
        |what: String, was: String, is: String| Err(FolderError::Different { path: path.to_owned(), what, was, is });
    let same = [
        ("experiment", &earlier.design.name, &run.design.name),
        ("version of wharf", &earlier.version, &run.version),
        ("processor", &earlier.machine.processor, &run.machine.processor),
        ("kernel", &earlier.machine.kernel, &run.machine.kernel),
    ];
    if let Some((what, was, is)) = same.into_iter().find(|(_, was, is)| was != is) {
        return different(what.to_owned(), was.clone(), is.clone());
    }
    if earlier.seed != run.seed {
        return different("seed".to_owned(), earlier.seed.to_string(), run.seed.to_string());
    }
    let names: BTreeSet<&String> = earlier.settings.keys().chain(run.settings.keys()).collect();
    let none = "nothing".to_owned();
    let value = |run: &Run, name: &String| run.settings.get(name).unwrap_or(&none).clone();
    if let Some(name) = names.into_iter().find(|name| earlier.settings.get(*name) != run.settings.get(*name)) {
        return different(format!("setting '{name}'"), value(&earlier, name), value(&run, name));
    }
    if earlier.design != run.design {
        return different("design".to_owned(), "other factors, levels or figures".to_owned(), "these".to_owned());
    }
    Ok(Run { began_ms: earlier.began_ms, ..run })
}
