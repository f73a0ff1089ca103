use std::cell::RefCell;
use std::ffi::OsStr;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;
use client::copy::{self, CopyError, CopyOptions, Summary};
use client::{Follow, Mount, Status, Url};
use vfs::FileKind;

use crate::failure::Failure;
use crate::interruption;
use crate::nfsstat::{OwnFlags, OwnMounts};
use crate::progress::{CopyProgress, UnderWay};
use crate::remote::{self, ConnectFlags, Location, Session, about};

/// Copy files between this machine and a server, or between servers.
///
/// A server of NFSv4.2 clones or copies its own files by itself. Holes stay holes wherever they can be told.
///
/// What is there already is never taken for a copy that was begun before: it is an error, unless --overwrite or --resume is given. A file
/// that is not copied whole yet is its owner's alone (mode 0600) and gets its mode and times at the end; Ctrl-C names those that are
/// incomplete.
#[derive(Debug, Args)]
pub struct Flags {
    /// What to copy: paths, or URLs such as nfs://host/export/dir.
    #[arg(value_name = "SRC", required = true)]
    from: Vec<Location>,
    /// Where to: a path or a URL; one of the two is a URL at least. An existing directory takes the copies in, and several need one.
    #[arg(value_name = "DST")]
    to: Location,
    /// Copy directories too, with all that is in them.
    #[arg(short = 'r', long)]
    recursive: bool,
    /// Overwrite files that are there, and merge directories.
    #[arg(long)]
    overwrite: bool,
    /// Go on with a copy that ended early: files whose copies have the same length and time of modification stay, unread, and
    /// everything else is overwritten.
    #[arg(long, conflicts_with = "overwrite")]
    resume: bool,
    /// Read every file back from its copy and compare.
    #[arg(long)]
    verify: bool,
    /// Keep users and groups too.
    #[arg(long)]
    owners: bool,
    /// Keep extended attributes of the user's too (user.*), of files and directories: copies have those of their originals and no others.
    /// A server has to have them and to speak NFSv4.2, which is used where no other version is named.
    #[arg(long)]
    xattrs: bool,
    /// Say what was copied.
    #[arg(short = 'v', long)]
    verbose: bool,
    #[command(flatten)]
    own: OwnFlags,
    #[command(flatten)]
    connect: ConnectFlags,
}

/// Copies.
pub fn run(flags: &Flags) -> Result<(), Failure> {
    let interrupted = interruption::listen()?;
    let (own, under_way) = (OwnMounts::new("cp", flags.own), UnderWay::default());
    let mounts = Mounts { copying: RefCell::default(), own, under_way };
    mounts.own.tell(remote::run(async {
        let result = tokio::select! {
            result = copy_all(flags, &mounts) => return result,
            Ok(signal) = interrupted => Err(Failure::Interrupted { signal, left: mounts.left() }),
        };
        mounts.cancel_copies().await;
        result
    }))
}

/// How long a server may take to cancel what it copies by itself when the user does not want it any more.
const CANCEL_TIMEOUT: Duration = Duration::from_secs(3);

/// What is mounted.
struct Mounts {
    /// The mount whose server copies by itself.
    copying: RefCell<Option<Mount>>,
    own: OwnMounts,
    under_way: UnderWay,
}

impl Mounts {
    /// What is left of a copy that is interrupted now.
    fn left(&self) -> String {
        format!("{}; --resume goes on with the copy", self.under_way.left())
    }

    /// Waits until the copies are cancelled that nobody waits for any more.
    async fn cancel_copies(&self) {
        let mount = self.copying.take();
        if let Some(mount) = mount {
            // A server that does not answer goes on alone.
            let _ = tokio::time::timeout(CANCEL_TIMEOUT, mount.copies_ended()).await;
        }
    }
}

async fn copy_all(flags: &Flags, mounts: &Mounts) -> Result<(), Failure> {
    for from in &flags.from {
        copy_either_way(from, flags, mounts).await?;
    }
    Ok(())
}

async fn copy_either_way(from: &Location, flags: &Flags, mounts: &Mounts) -> Result<(), Failure> {
    match (from, &flags.to) {
        (Location::Local(from), Location::Remote(to)) => upload(from, to, flags, mounts).await,
        (Location::Remote(from), Location::Local(to)) => download(from, to, flags, mounts).await,
        (Location::Remote(from), Location::Remote(to)) => between(from, to, flags, mounts).await,
        (Location::Local(_), Location::Local(_)) => Err(Failure::NoRemoteSide),
    }
}

async fn upload(from: &Path, to: &Url, flags: &Flags, mounts: &Mounts) -> Result<(), Failure> {
    let metadata =
        std::fs::symlink_metadata(from).map_err(|source| Failure::Local { path: from.to_owned(), source })?;
    if metadata.is_dir() && !flags.recursive {
        return Err(Failure::IsDirectory { file: from.display().to_string() });
    }
    let session = Session::open(to, &flags.connect()).await?;
    mounts.own.add(&session.mount);
    let target = target_path(&session, flags, || local_name(from)).await?;
    let progress = CopyProgress::start(flags.verify, &mounts.under_way);
    let copied = copy::upload(&session.mount, from, &target, &flags.options(&progress)).await;
    flags.finish(&progress, copied, || session.name())
}

async fn download(from: &Url, to: &Path, flags: &Flags, mounts: &Mounts) -> Result<(), Failure> {
    let session = Session::open(from, &flags.connect()).await?;
    mounts.own.add(&session.mount);
    let found = session.find(Follow::Nothing).await?;
    if found.attributes.kind == FileKind::Directory && !flags.recursive {
        return Err(Failure::IsDirectory { file: session.name() });
    }
    let target = match to.is_dir() {
        true => to.join(remote_name(from)),
        false if flags.from.len() > 1 => return Err(Failure::NoDirectory { file: to.display().to_string() }),
        false => to.to_owned(),
    };
    let progress = CopyProgress::start(flags.verify, &mounts.under_way);
    let copied = copy::download(&session.mount, &session.below(), &target, &flags.options(&progress)).await;
    flags.finish(&progress, copied, || session.name())
}

async fn between(from: &Url, to: &Url, flags: &Flags, mounts: &Mounts) -> Result<(), Failure> {
    let (source, target) = Session::open_pair(from, to, &flags.connect()).await?;
    [&source, &target].into_iter().for_each(|session| mounts.own.add(&session.mount));
    let found = source.find(Follow::Nothing).await?;
    if found.attributes.kind == FileKind::Directory && !flags.recursive {
        return Err(Failure::IsDirectory { file: source.name() });
    }
    let path = target_path(&target, flags, || Ok(remote_name(from).into_os_string().into_vec())).await?;
    mounts.copying.replace(Some(target.mount.clone()));
    let progress = CopyProgress::start(flags.verify, &mounts.under_way);
    let options = flags.options(&progress);
    let copied = copy::between((&source.mount, &source.below()), (&target.mount, &path), &options).await;
    flags.finish(&progress, copied, || source.name())
}

/// The path of the copy: the one that is named, or in the directory that it names.
async fn target_path(
    session: &Session,
    flags: &Flags,
    name: impl FnOnce() -> Result<Vec<u8>, Failure>,
) -> Result<Vec<u8>, Failure> {
    let mut target = session.below();
    match session.mount.walk(&target, Follow::Links).await {
        Ok(found) if found.attributes.kind == FileKind::Directory => {
            target.push(b'/');
            target.extend_from_slice(&name()?);
        }
        Err(error) if error.status() != Some(Status::NoEntry) => return Err(about(session.name())(error)),
        _ if flags.from.len() > 1 => return Err(Failure::NoDirectory { file: session.name() }),
        _ => {}
    }
    Ok(target)
}

impl Flags {
    /// How to talk to servers: only NFSv4.2 has extended attributes.
    fn connect(&self) -> ConnectFlags {
        if self.xattrs { self.connect.preferring_4_2() } else { self.connect.clone() }
    }

    fn options(&self, progress: &CopyProgress) -> CopyOptions {
        CopyOptions {
            overwrite: self.overwrite,
            resume: self.resume,
            verify: self.verify,
            keep_owners: self.owners,
            keep_xattrs: self.xattrs,
            progress: Some(progress.listener()),
            ..CopyOptions::default()
        }
    }

    fn finish(
        &self,
        progress: &CopyProgress,
        copied: Result<Summary, CopyError>,
        name: impl FnOnce() -> String,
    ) -> Result<(), Failure> {
        let elapsed = progress.finish();
        let summary = copied.map_err(|source| Failure::Copy { file: name(), source })?;
        if self.verbose {
            let Summary { files, kept, directories, symlinks, special_files, hard_links, bytes, server_bytes, .. } =
                summary;
            let by_server =
                if server_bytes > 0 { format!(", {server_bytes} of them by the server") } else { String::new() };
            let kept = if kept > 0 { format!(" ({kept} more were there)") } else { String::new() };
            eprintln!(
                "copied {files} files{kept}, {directories} directories, {symlinks} symbolic links, {hard_links} hard links, \
                 {special_files} special files: {bytes} bytes{by_server} in {:.2} s{}",
                elapsed.as_secs_f64(),
                if self.verify { ", every byte compared" } else { "" },
            );
        }
        Ok(())
    }
}

/// The name of what is copied, in a directory that takes it in. A path such as `..` has one only when it is resolved.
fn local_name(from: &Path) -> Result<Vec<u8>, Failure> {
    let name = |path: &Path| path.file_name().map(|name| name.as_bytes().to_vec());
    if let Some(name) = name(from) {
        return Ok(name);
    }
    let whole = from.canonicalize().map_err(|source| Failure::Local { path: from.to_owned(), source })?;
    Ok(name(&whole).unwrap_or_default())
}

fn remote_name(from: &Url) -> PathBuf {
    let last = from.path.rsplit(|byte| *byte == b'/').find(|part| !part.is_empty());
    PathBuf::from(OsStr::from_bytes(last.unwrap_or_default()))
}
