use std::io::Write;

use clap::Args;
use client::{Detail, Entry, Follow, Mount, Url};
use vfs::FileKind;

use crate::failure::{Failure, Failures};
use crate::nfsstat::{OwnFlags, OwnMounts};
use crate::output::Output;
use crate::remote::{
    self, ConnectFlags, FileRecord, MAX_DEPTH, Session, Shown, about, display_name, human_bytes, join, mode_text,
    time_text,
};

/// List directories.
#[derive(Debug, Args)]
pub struct Flags {
    /// The directories or files, such as nfs://host/export/dir or host:/export/dir.
    #[arg(value_name = "URL", required = true, value_parser = remote::url_argument())]
    urls: Vec<Url>,
    /// Show mode, links, owner, group, size and modification time (UTC).
    #[arg(short = 'l', long)]
    long: bool,
    /// Include names that begin with a dot.
    #[arg(short = 'a', long)]
    all: bool,
    /// Show sizes with units, in powers of 1024.
    #[arg(short = 'h', long)]
    human_readable: bool,
    /// List directories themselves, not what is in them.
    #[arg(short = 'd', long)]
    directory: bool,
    /// Sort by modification time, newest first.
    #[arg(short = 't')]
    by_time: bool,
    /// Sort in reverse order.
    #[arg(short = 'r', long)]
    reverse: bool,
    /// List one file per line, which is always done.
    #[arg(short = '1')]
    one_per_line: bool,
    /// List subdirectories recursively.
    #[arg(short = 'R', long)]
    recursive: bool,
    /// Print all attributes of each file as a JSON array.
    #[arg(long)]
    json: bool,
    /// Print help.
    #[arg(long, action = clap::ArgAction::Help)]
    help: Option<bool>,
    #[command(flatten)]
    own: OwnFlags,
    #[command(flatten)]
    connect: ConnectFlags,
}

/// Lists the directories.
pub fn run(flags: &Flags) -> Result<(), Failure> {
    let own = OwnMounts::new("ls", flags.own);
    own.tell(remote::run(async {
        let (records, output) = (Vec::new(), Output::new());
        let (shown, failures) = (Shown::on_stdout(), Failures::default());
        let mut lister = Lister { flags, records, output, own: &own, shown, failures, has_printed: false };
        for url in &flags.urls {
            let listed = lister.list_url(url).await;
            lister.failures.go_on(listed)?;
        }
        lister.finish()
    }))
}

struct Lister<'a> {
    flags: &'a Flags,
    records: Vec<FileRecord>,
    output: Output,
    own: &'a OwnMounts,
    shown: Shown,
    failures: Failures,
    /// Whether the list of a file or directory was printed.
    has_printed: bool,
}

/// A file of a listing.
struct Listed {
    name: Vec<u8>,
    /// The file, unless it may not be looked up.
    entry: Option<Entry>,
    target: Option<Vec<u8>>,
}

/// A directory to list.
struct Pending {
    path: Vec<u8>,
    dir: Entry,
    depth: usize,
}

impl Flags {
    fn sort(&self, files: &mut [Listed]) {
        let modified = |file: &Listed| {
            file.entry.as_ref().map(|entry| (entry.attributes.modified.seconds, entry.attributes.modified.nanoseconds))
        };
        files.sort_by(|a, b| match self.by_time {
            true => modified(b).cmp(&modified(a)).then_with(|| a.name.cmp(&b.name)),
            false => a.name.cmp(&b.name),
        });
        if self.reverse {
            files.reverse();
        }
    }
}

impl Lister<'_> {
    async fn list_url(&mut self, url: &Url) -> Result<(), Failure> {
        let session = Session::open(url, &self.flags.connect).await?;
        self.own.add(&session.mount);
        let entry = session.find(if self.flags.directory { Follow::Nothing } else { Follow::Links }).await?;
        if entry.attributes.kind != FileKind::Directory || self.flags.directory {
            self.has_printed = true;
            let target = self.target(&session.mount, &entry).await.map_err(about(session.name()))?;
            return self.show(&Listed { name: url.path.clone(), entry: Some(entry), target }, b"");
        }
        let has_headers = self.flags.recursive || self.flags.urls.len() > 1;
        let mut pending = vec![Pending { path: url.path.clone(), dir: entry, depth: 0 }];
        while let Some(next) = pending.pop() {
            if has_headers && !self.flags.json {
                if self.has_printed {
                    self.output.write_all(b"\n")?;
                }
                self.has_printed = true;
                let path = self.shown.bytes(&next.path).into_owned();
                self.output.write_all(&path)?;
                self.output.write_all(b":\n")?;
            }
            let inner = match self.list_dir(&session.mount, &next).await {
                Err(failure) if next.depth > 0 => {
                    self.failures.go_on(Err(failure))?;
                    Vec::new()
                }
                listed => listed?,
            };
            pending.extend(inner.into_iter().rev());
        }
        Ok(())
    }

    /// Lists one directory, and returns its subdirectories if they are to be listed.
    async fn list_dir(&mut self, mount: &Mount, dir: &Pending) -> Result<Vec<Pending>, Failure> {
        let mut files = self.read(mount, dir).await?;
        self.flags.sort(&mut files);
        let mut inner = Vec::new();
        for file in files {
            self.show(&file, &dir.path)?;
            let entry = file.entry.filter(|entry| entry.attributes.kind == FileKind::Directory);
            if let Some(entry) = entry.filter(|_| self.flags.recursive && dir.depth < MAX_DEPTH) {
                inner.push(Pending { path: join(&dir.path, &file.name), dir: entry, depth: dir.depth + 1 });
            }
        }
        Ok(inner)
    }

    fn show(&mut self, file: &Listed, dir: &[u8]) -> Result<(), Failure> {
        if self.flags.json {
            let path = if dir.is_empty() { file.name.clone() } else { join(dir, &file.name) };
            self.records.push(FileRecord::new(&path, file.entry.as_ref(), file.target.as_deref()));
            return Ok(());
        }
        match file.entry.as_ref().map(|entry| &entry.attributes) {
            Some(attributes) if self.flags.long => {
                let (time, size_bytes) = (time_text(attributes.modified), attributes.size_bytes);
                write!(
                    self.output,
                    "{} {:>3} {:>7} {:>7} {:>13} {} {} ",
                    mode_text(attributes),
                    attributes.links,
                    attributes.uid,
                    attributes.gid,
                    if self.flags.human_readable { human_bytes(size_bytes) } else { size_bytes.to_string() },
                    &time[..10],
                    &time[11..16],
                )?;
            }
            None if self.flags.long => write!(self.output, "?????????? {0:>3} {0:>7} {0:>7} {0:>13} {0:>16} ", "?")?,
            _ => {}
        }
        self.output.write_all(&self.shown.bytes(&file.name))?;
        if let (true, Some(target)) = (self.flags.long, &file.target) {
            self.output.write_all(b" -> ")?;
            self.output.write_all(&self.shown.bytes(target))?;
        }
        Ok(self.output.write_all(b"\n")?)
    }

    fn finish(mut self) -> Result<(), Failure> {
        if self.flags.json {
            self.output.json(&self.records)?;
        }
        self.output.finish()?;
        self.failures.finish()
    }

    /// Where a symbolic link points, if that is shown.
    async fn target(&self, mount: &Mount, entry: &Entry) -> client::Result<Option<Vec<u8>>> {
        let is_shown = entry.attributes.kind == FileKind::Symlink && (self.flags.long || self.flags.json);
        Ok(if is_shown { Some(mount.readlink(&entry.handle).await?) } else { None })
    }

    /// Reads a directory. Files that may not be looked up are reported and have no attributes; those removed during the
    /// listing are left out.
    async fn read(&mut self, mount: &Mount, dir: &Pending) -> Result<Vec<Listed>, Failure> {
        let flags = self.flags;
        let mut listing = mount.read_dir(&dir.dir.handle, Detail::Entries);
        let mut files = Vec::new();
        while let Some(found) = listing.next().await.map_err(about(display_name(&dir.path).to_string()))? {
            if found.name.starts_with(b".") && !flags.all {
                continue;
            }
            let failed = || about(display_name(&join(&dir.path, &found.name)).to_string());
            let entry = match listing.find(&found).await.map_err(failed()) {
                Ok(None) => continue,
                Ok(entry) => entry,
                Err(failure) => {
                    self.failures.go_on(Err(failure))?;
                    None
                }
            };
            let target = match &entry {
                Some(entry) => self.target(mount, entry).await.map_err(failed())?,
                None => None,
            };
            files.push(Listed { name: found.name.into_vec(), entry, target });
        }
        Ok(files)
    }
}
