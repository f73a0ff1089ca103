use std::io::Write;

use clap::Args;
use client::{Entry, Follow, Url};
use vfs::FileKind;

use crate::failure::{Failure, Failures};
use crate::output::Output;
use crate::remote::{self, ConnectFlags, FileRecord, Session, Shown, about, kind_text, mode_text, time_text};

/// Show the attributes of files.
#[derive(Debug, Args)]
pub struct Flags {
    /// The files, such as nfs://host/export/file or host:/export/file.
    #[arg(value_name = "URL", required = true, value_parser = remote::url_argument())]
    urls: Vec<Url>,
    /// Follow symbolic links.
    #[arg(short = 'L', long)]
    dereference: bool,
    /// Print a JSON array.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    connect: ConnectFlags,
}

/// Shows the attributes.
pub fn run(flags: &Flags) -> Result<(), Failure> {
    remote::run(async {
        let mut output = Output::new();
        let mut records = Vec::new();
        let mut failures = Failures::default();
        for url in &flags.urls {
            let shown = find(url, flags).await.and_then(|(entry, target)| {
                if flags.json {
                    records.push(FileRecord::new(&url.path, Some(&entry), target.as_deref()));
                    return Ok(());
                }
                show(&mut output, &url.path, &entry, target.as_deref())
            });
            failures.go_on(shown)?;
        }
        if flags.json {
            output.json(&records)?;
        }
        output.finish()?;
        failures.finish()
    })
}

/// Returns the file, and the target if it is a symbolic link.
async fn find(url: &Url, flags: &Flags) -> Result<(Entry, Option<Vec<u8>>), Failure> {
    let session = Session::open(url, &flags.connect).await?;
    let follow = if flags.dereference { Follow::Links } else { Follow::Nothing };
    let entry = session.find(follow).await?;
    let target = match entry.attributes.kind {
        FileKind::Symlink => Some(session.mount.readlink(&entry.handle).await.map_err(about(session.name()))?),
        _ => None,
    };
    Ok((entry, target))
}

fn show(output: &mut Output, path: &[u8], entry: &Entry, target: Option<&[u8]>) -> Result<(), Failure> {
    let shown = Shown::on_stdout();
    let attributes = &entry.attributes;
    output.write_all(b"  File: ")?;
    output.write_all(&shown.bytes(path))?;
    if let Some(target) = target {
        output.write_all(b" -> ")?;
        output.write_all(&shown.bytes(target))?;
    }
    writeln!(output)?;
    writeln!(
        output,
        "  Kind: {:<17} Size: {:<14} Used: {:<14} Links: {}",
        kind_text(attributes.kind),
        attributes.size_bytes,
        attributes.used_bytes,
        attributes.links
    )?;
    let device = attributes.device;
    if matches!(attributes.kind, FileKind::BlockDevice | FileKind::CharDevice) {
        writeln!(output, "Device: {}, {}", device.major, device.minor)?;
    }
    writeln!(
        output,
        "  Mode: {:04o}/{}   Uid: {:<10} Gid: {}",
        attributes.mode,
        mode_text(attributes),
        attributes.uid,
        attributes.gid
    )?;
    writeln!(output, "  Fsid: {:<20x}  Fileid: {}", attributes.fsid, attributes.fileid)?;
    writeln!(output, "Access: {}", time_text(attributes.accessed))?;
    writeln!(output, "Modify: {}", time_text(attributes.modified))?;
    writeln!(output, "Change: {}", time_text(attributes.changed))?;
    Ok(())
}
