use std::io::Write;

use clap::Args;
use client::{Detail, Entry, Follow, Mount, Url};
use vfs::FileKind;

use crate::failure::{Failure, Failures};
use crate::nfsstat::{OwnFlags, OwnMounts};
use crate::output::Output;
use crate::remote::{self, ConnectFlags, FileRecord, MAX_DEPTH, Session, Shown, about, mode_text, time_text};

/// List directories.
#[derive(Debug, Args)]
pub struct Flags {
    /// The directories or files, such as nfs://host/export/dir or host:/export/dir.
    #[arg(value_name = "URL", required = true, value_parser = remote::parse_url)]
    urls: Vec<Url>,
    /// Show mode, links, owner, group, size and modification time (UTC).
    #[arg(short = 'l', long)]
    long: bool,
    /// Include names that begin with a dot.
    #[arg(short = 'a', long)]
    all: bool,
    /// List subdirectories recursively.
    #[arg(short = 'R', long)]
    recursive: bool,
    /// Print all attributes of each file as a JSON array.
    #[arg(long)]
    json: bool,
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
        let mut lister = Lister { flags, records, output, own: &own, shown: Shown::on_stdout() };
        let mut failures = Failures::default();
        for url in &flags.urls {
            failures.go_on(lister.list_url(url).await)?;
        }
        lister.finish()?;
        failures.finish()
    }))
}

struct Lister<'a> {
    flags: &'a Flags,
    records: Vec<FileRecord>,
    output: Output,
    own: &'a OwnMounts,
    shown: Shown,
}

/// A file of a listing.
struct Listed {
    name: Vec<u8>,
    entry: Entry,
    target: Option<Vec<u8>>,
}

/// A directory to list.
struct Pending {
    path: Vec<u8>,
    dir: Entry,
    depth: usize,
}

impl Lister<'_> {
    async fn list_url(&mut self, url: &Url) -> Result<(), Failure> {
        let session = Session::open(url, &self.flags.connect).await?;
        self.own.add(&session.mount);
        let entry = session.find(Follow::Links).await?;
        if entry.attributes.kind != FileKind::Directory {
            return self.show(&Listed { name: url.path.clone(), entry, target: None }, b"");
        }
        let has_headers = self.flags.recursive || self.flags.urls.len() > 1;
        let mut pending = vec![Pending { path: url.path.clone(), dir: entry, depth: 0 }];
        while let Some(next) = pending.pop() {
            if has_headers && !self.flags.json {
                let path = self.shown.bytes(&next.path).into_owned();
                self.output.write_all(&path)?;
                self.output.write_all(b":\n")?;
            }
            let inner = self.list_dir(&session.mount, &next).await?;
            if has_headers && !self.flags.json && !inner.is_empty() {
                self.output.write_all(b"\n")?;
            }
            pending.extend(inner.into_iter().rev());
        }
        Ok(())
    }

    /// Lists one directory, and returns its subdirectories if they are to be listed.
    async fn list_dir(&mut self, mount: &Mount, dir: &Pending) -> Result<Vec<Pending>, Failure> {
        let mut files = read(mount, dir, self.flags).await?;
        files.sort_by(|a, b| a.name.cmp(&b.name));
        let mut inner = Vec::new();
        for file in files {
            self.show(&file, &dir.path)?;
            if self.flags.recursive && file.entry.attributes.kind == FileKind::Directory && dir.depth < MAX_DEPTH {
                inner.push(Pending { path: join(&dir.path, &file.name), dir: file.entry, depth: dir.depth + 1 });
            }
        }
        Ok(inner)
    }

    fn show(&mut self, file: &Listed, dir: &[u8]) -> Result<(), Failure> {
        if self.flags.json {
            let path = if dir.is_empty() { file.name.clone() } else { join(dir, &file.name) };
            self.records.push(FileRecord::new(&path, &file.entry, file.target.as_deref()));
            return Ok(());
        }
        if self.flags.long {
            let attributes = &file.entry.attributes;
            let time = time_text(attributes.modified);
            write!(
                self.output,
                "{} {:>3} {:>7} {:>7} {:>13} {} {} ",
                mode_text(attributes),
                attributes.links,
                attributes.uid,
                attributes.gid,
                attributes.size_bytes,
                &time[..10],
                &time[11..16],
            )?;
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
        Ok(self.output.finish()?)
    }
}

async fn read(mount: &Mount, dir: &Pending, flags: &Flags) -> Result<Vec<Listed>, Failure> {
    let failed = || about(String::from_utf8_lossy(&dir.path).into_owned());
    let mut listing = mount.read_dir(&dir.dir.handle, Detail::Entries);
    let mut files = Vec::new();
    while let Some(found) = listing.next().await.map_err(failed())? {
        // A file that was removed during the listing has no entry, and is skipped.
        let (Some(entry), true) = (found.entry, flags.all || !found.name.starts_with(b".")) else { continue };
        let wants_target = entry.attributes.kind == FileKind::Symlink && (flags.long || flags.json);
        let target = match wants_target {
            true => Some(mount.readlink(&entry.handle).await.map_err(failed())?),
            false => None,
        };
        files.push(Listed { name: found.name.into_vec(), entry, target });
    }
    Ok(files)
}

fn join(dir: &[u8], name: &[u8]) -> Vec<u8> {
    let dir = dir.strip_suffix(b"/").unwrap_or(dir);
    [dir, b"/", name].concat()
}
