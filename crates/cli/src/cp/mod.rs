mod stream;
mod target;

use std::cell::{Cell, RefCell};
use std::path::Path;
use std::time::Duration;

use clap::error::ErrorKind;
use clap::{Args, Command};
use client::copy::{self, CopyError, CopyOptions, Stop, Summary};
use client::{Entry, Follow, Mount, Url};
use vfs::FileKind;

use crate::failure::{Failure, Failures};
use crate::interruption;
use crate::nfsstat::{OwnFlags, OwnMounts};
use crate::progress::{CopyProgress, UnderWay};
use crate::remote::{self, ConnectFlags, Location, Session};
use stream::Input;
use target::{Source, local_name, local_origin, remote_name, remote_origin};

/// Copy files between this machine and a server, or between servers.
///
/// NFSv4.2 servers clone or copy their own files themselves. Holes stay holes where they can be detected.
///
/// Existing files are an error unless --overwrite or --resume is given. An incomplete copy has mode 0600 and gets its
/// mode and times at the end; Ctrl-C lists the incomplete files.
///
/// Goes on with the other files after a failure. The same command with --resume copies what is missing. A directory has
/// a file .wharf-copy until its copy is complete, so that --resume completes it instead of copying into it.
#[derive(Debug, Args)]
#[command(override_usage = "wharf cp [OPTIONS] <SRC>... <DST>")]
pub struct Flags {
    /// Sources and destination: local paths, - for standard input or output, or files on servers such as
    /// nfs://host/export/dir or host:/export/dir. One side must be on a server. An existing directory as DST receives
    /// the copies; several sources require one.
    // One list: with two arguments, clap would take a value behind an option for the last one.
    #[arg(value_name = "PATH", required = true, value_parser = remote::location_argument())]
    paths: Vec<Location>,
    /// Copy directories and their contents.
    #[arg(short = 'r', long, visible_short_alias = 'R')]
    recursive: bool,
    /// Preserve modes and times, which is always done, and the superuser's copies also users and groups.
    #[arg(short = 'p')]
    preserve: bool,
    /// The same as -r -p.
    #[arg(short = 'a', long)]
    archive: bool,
    /// Replace the contents of existing files, which keep their other names, and merge directories. A file is never
    /// copied onto itself, however the two sides name it.
    #[arg(long)]
    overwrite: bool,
    /// Continue a copy that ended early. Files with the same length and modification time are skipped unread; others
    /// are compared with their originals and copied from the first difference on.
    #[arg(long, conflicts_with = "overwrite")]
    resume: bool,
    /// Treat DST as the copy itself, even if it is an existing directory.
    #[arg(short = 'T', long)]
    no_target_directory: bool,
    /// Read every copy back and compare it with the original.
    #[arg(long)]
    verify: bool,
    /// Preserve users and groups.
    #[arg(long)]
    owners: bool,
    /// Make the user's extended attributes (user.*) of files and directories equal to the original's. Requires NFSv4.2,
    /// which becomes the default version.
    #[arg(long)]
    xattrs: bool,
    /// Print what was copied.
    #[arg(short = 'v', long)]
    verbose: bool,
    #[command(flatten)]
    own: OwnFlags,
    #[command(flatten)]
    connect: ConnectFlags,
}

/// Copies the files.
pub fn run(flags: &Flags) -> Result<(), Failure> {
    if flags.paths.len() < 2 {
        return Err(Failure::Usage(Flags::augment_args(Command::new("wharf cp")).error(
            ErrorKind::MissingRequiredArgument,
            "the following required arguments were not provided:\n  <DST>",
        )));
    }
    let interrupted = interruption::listen()?;
    let own = OwnMounts::new("cp", flags.own);
    let mounts = Mounts {
        copying: RefCell::default(),
        own,
        under_way: UnderWay::default(),
        stop: Stop::default(),
        has_begun: Cell::new(false),
    };
    mounts.own.tell(remote::run_to_its_end(async {
        let mut copying = Box::pin(copy_all(flags, &mounts));
        let signal = tokio::select! {
            result = &mut copying => return result,
            Ok(signal) = interrupted => signal,
        };
        mounts.stop.stop();
        client::hurry();
        if !mounts.has_begun.get() {
            return Err(Failure::Interrupted { signal, left: "nothing was copied".to_owned() });
        }
        // --resume compares whatever the server has not confirmed.
        let _ = tokio::time::timeout(STOP_TIMEOUT, &mut copying).await;
        drop(copying);
        mounts.cancel_copies().await;
        Err(Failure::Interrupted { signal, left: mounts.left() })
    }))
}

/// How long servers may take to reply to outstanding requests after Ctrl-C.
const STOP_TIMEOUT: Duration = Duration::from_secs(3);
/// How long a server may take to cancel its own copy after Ctrl-C.
const CANCEL_TIMEOUT: Duration = Duration::from_secs(3);

/// The mounts in use.
struct Mounts {
    /// The mount whose server runs a copy.
    copying: RefCell<Option<Mount>>,
    own: OwnMounts,
    under_way: UnderWay,
    stop: Stop,
    /// Whether anything may have been created.
    has_begun: Cell<bool>,
}

impl Mounts {
    /// Describes what an interrupted copy leaves behind.
    fn left(&self) -> String {
        self.under_way.left()
    }

    /// Waits until abandoned copies of servers are cancelled.
    async fn cancel_copies(&self) {
        let mount = self.copying.take();
        if let Some(mount) = mount {
            // A server that does not answer finishes its copy.
            let _ = tokio::time::timeout(CANCEL_TIMEOUT, mount.copies_ended()).await;
        }
    }
}

/// Copies each source. Reports a source that fails, and goes on with the others.
async fn copy_all(flags: &Flags, mounts: &Mounts) -> Result<(), Failure> {
    let [sources @ .., to] = &flags.paths[..] else { return Ok(()) };
    let copy = Copy { flags, mounts, to, is_one_of_several: sources.len() > 1 };
    let mut failures = Failures::default();
    for from in sources {
        match copy.either_way(from).await {
            // The failure tells how the whole copy ended.
            Err(failure) if !copy.is_one_of_several => return Err(failure),
            result => failures.go_on(result)?,
        }
    }
    failures.finish()
}

/// A copy of one source.
struct Copy<'c> {
    flags: &'c Flags,
    mounts: &'c Mounts,
    to: &'c Location,
    is_one_of_several: bool,
}

impl Copy<'_> {
    async fn either_way(&self, from: &Location) -> Result<(), Failure> {
        match (from, self.to) {
            (Location::Local(from), Location::Remote(to)) => self.upload(from, to).await,
            (Location::Remote(from), Location::Local(to)) => self.download(from, to).await,
            (Location::Remote(from), Location::Remote(to)) => self.between(from, to).await,
            (Location::Stream, Location::Remote(to)) => self.upload_stream(Input::standard()?, to).await,
            (Location::Remote(from), Location::Stream) => self.download_stream(from).await,
            (Location::Local(_) | Location::Stream, Location::Local(_) | Location::Stream) => {
                Err(Failure::NoRemoteSide)
            }
        }
    }

    async fn upload(&self, from: &Path, to: &Url) -> Result<(), Failure> {
        let local = |source| Failure::Local { path: from.to_owned(), source };
        let is_recursive = self.flags.is_recursive();
        let look = if is_recursive { std::fs::symlink_metadata(from) } else { std::fs::metadata(from) };
        let metadata = look.map_err(local)?;
        if metadata.is_dir() && !is_recursive {
            return Err(Failure::IsDirectory { file: from.display().to_string() });
        }
        let has_path = metadata.is_file() && from.canonicalize().is_ok();
        if !is_recursive && !has_path {
            return self.upload_stream(Input::open(from).await?, to).await;
        }
        let session = self.open(to).await?;
        let modified = metadata.modified().map_err(local)?.into();
        let source =
            Source { name: local_name(from)?, origin: local_origin(from)?, is_dir: metadata.is_dir(), modified };
        let target = self.target_there(&session, &source).await?;
        let progress = self.progress();
        progress.count_here(from);
        let options = self.options(&progress, &source, session.name());
        let copied = copy::upload(&session.mount, from, &target, &options).await;
        self.finish(&progress, copied, session.name())
    }

    async fn download(&self, from: &Url, to: &Path) -> Result<(), Failure> {
        let session = self.open(from).await?;
        let (found, source) = self.source_there(&session, from).await?;
        let target = self.target_here(to, &source)?;
        let progress = self.progress();
        progress.count_there(&session.mount, found);
        let options = self.options(&progress, &source, session.name());
        let copied = copy::download(&session.mount, &session.below(), &target, &options).await;
        self.finish(&progress, copied, session.name())
    }

    async fn between(&self, from: &Url, to: &Url) -> Result<(), Failure> {
        let (source, target) = Session::open_pair(from, to, &self.flags.connect()).await?;
        [&source, &target].into_iter().for_each(|session| self.mounts.own.add(&session.mount));
        let (found, original) = self.source_there(&source, from).await?;
        let path = self.target_there(&target, &original).await?;
        self.mounts.copying.replace(Some(target.mount.clone()));
        let progress = self.progress();
        progress.count_there(&source.mount, found);
        let options = self.options(&progress, &original, source.name());
        let copied = copy::between(&source.mount, &source.below(), &target.mount, &path, &options).await;
        self.finish(&progress, copied, source.name())
    }

    async fn open(&self, url: &Url) -> Result<Session, Failure> {
        let session = Session::open(url, &self.flags.connect()).await?;
        self.mounts.own.add(&session.mount);
        Ok(session)
    }

    async fn source_there(&self, session: &Session, url: &Url) -> Result<(Entry, Source), Failure> {
        let found = session.find(if self.flags.is_recursive() { Follow::Nothing } else { Follow::Links }).await?;
        let is_dir = found.attributes.kind == FileKind::Directory;
        if is_dir && !self.flags.is_recursive() {
            return Err(Failure::IsDirectory { file: session.name() });
        }
        let (name, modified) = (remote_name(url), found.attributes.modified);
        Ok((found, Source { name, origin: remote_origin(url), is_dir, modified }))
    }

    fn progress(&self) -> CopyProgress {
        self.mounts.has_begun.set(true);
        CopyProgress::start(self.flags.verify, &self.mounts.under_way)
    }

    fn options(&self, progress: &CopyProgress, source: &Source, about: String) -> CopyOptions {
        CopyOptions {
            mark: source.is_dir.then(|| source.origin.clone()),
            progress: Some(progress.listener()),
            on_failure: Some(progress.failure_listener(about)),
            stop: Some(self.mounts.stop.clone()),
            ..self.flags.options()
        }
    }

    /// Returns how the copy of one source ended.
    fn finish(&self, progress: &CopyProgress, copied: Result<Summary, CopyError>, file: String) -> Result<(), Failure> {
        let elapsed = progress.finish();
        match copied {
            Ok(summary) => {
                if self.flags.verbose {
                    self.flags.tell(&summary, elapsed);
                }
                match summary.owners_refused {
                    0 => Ok(()),
                    count => Err(Failure::OwnersRefused { file, count }),
                }
            }
            Err(CopyError::Incomplete { .. }) => Err(Failure::CopyIncomplete { left: self.mounts.under_way.copied() }),
            Err(source) => Err(Failure::Copy { file, source, left: progress.left() }),
        }
    }
}

impl Flags {
    /// Only NFSv4.2 has extended attributes.
    fn connect(&self) -> ConnectFlags {
        if self.xattrs { self.connect.preferring_4_2() } else { self.connect.clone() }
    }

    fn is_recursive(&self) -> bool {
        self.recursive || self.archive
    }

    fn options(&self) -> CopyOptions {
        CopyOptions {
            overwrite: self.overwrite,
            resume: self.resume,
            follow: !self.is_recursive(),
            verify: self.verify,
            keep_owners: self.owners || ((self.preserve || self.archive) && rustix::process::geteuid().is_root()),
            keep_xattrs: self.xattrs,
            ..CopyOptions::default()
        }
    }

    /// Prints what was copied.
    fn tell(&self, summary: &Summary, elapsed: Duration) {
        let Summary { files, directories, symlinks, special_files, hard_links, bytes, .. } = summary;
        let some =
            |count: u64, text: &str| if count > 0 { text.replace("{}", &count.to_string()) } else { String::new() };
        eprintln!(
            "copied {files} files{}, {directories} directories, {symlinks} symbolic links, {hard_links} hard links, \
             {special_files} special files: {bytes} bytes{}{} in {:.2} s{}",
            some(summary.kept, " ({} more were there)"),
            some(summary.server_bytes, ", {} of them by the server"),
            some(summary.resumed_bytes, ", {} more were there"),
            elapsed.as_secs_f64(),
            if self.verify { ", every byte compared" } else { "" },
        );
    }
}
