//! `wharf mount`: mounts an export on a directory of this machine through FUSE.

mod connect;
mod daemon;
mod foreground;
mod helper;
mod log;
pub mod options;
mod place;
mod source;

use std::path::PathBuf;

use clap::Args;

use crate::failure::{Failure, MountFailure};
pub use helper::command_line;
use options::{OptionList, Settings};
use source::Source;

const OPTIONS_HELP: &str = "\
Options of -o, with the names of nfs(5) and mount(8):
  vers=, nfsvers=, minorversion=     2, 3, 4, 4.0, 4.1 or 4.2 [default: the newest that the server speaks]
  proto=tcp|udp|tcp6|udp6, tcp, udp, port=, mountport=, mountproto=, lockport=, nconnect=, resvport, noresvport
  clientaddr=, callbackport=         where an NFSv4.0 server may call back
  sec=sys, xprtsec=none, rsize=, wsize=, timeo= (tenths of a second), retrans=, retry= (minutes), bg, fg
  hard [default], soft, softerr      wait for ever for a server that does not answer, or fail
  acregmin=, acregmax=, acdirmin=, acdirmax=, actimeo= (seconds), ac, noac, cto, nocto,
  lookupcache=all|pos|none, rdirplus, rdirplus=force|none, nordirplus, readplus, noreadplus,
  delegations, nodelegations, lock, nolock, local_lock=all|flock|posix|none
  ro, rw, dev, nodev, suid, nosuid, exec, noexec, user, users, owner, group
  sync, async, write=wait|lazy|eager whether writes wait for stable storage
  allow_other, noallow_other         let other users use the mount [default: only on root's mounts]
  direct                             no data cache: each read and write goes to the server
  direct_io                          the kernel caches no data; Wharf's block cache does
  writeback                          the kernel delays writes; only if no other client changes the files
  sloppy                             ignore unknown options
  Other options of both pages have no effect, or are refused with the reason (docs/mounting.md).

Unmount with umount DIR (ordinary users: fusermount3 -u DIR), or with Ctrl-C in the foreground.";

/// Mount an export on a local directory through FUSE.
#[derive(Debug, Args)]
#[command(after_long_help = OPTIONS_HELP, after_help = "--help lists the options of -o.")]
pub struct Flags {
    // The help names a URL with optional parts, which rustdoc takes for links.
    #[allow(rustdoc::broken_intra_doc_links)]
    /// What to mount: HOST:/EXPORT or nfs://HOST[:PORT]/EXPORT[/DIR].
    #[arg(value_name = "SOURCE")]
    source: Source,
    /// The directory to mount on.
    #[arg(value_name = "DIR")]
    dir: PathBuf,
    /// Mount options, separated by commas, such as vers=4.2,ro,soft.
    #[arg(short = 'o', value_name = "OPTIONS")]
    options: Vec<OptionList>,
    /// Stay in the foreground and log to standard error.
    #[arg(short, long)]
    foreground: bool,
    /// Mount read-only.
    #[arg(short, long)]
    read_only: bool,
    /// Report on standard output when mounted, then detach from the terminal.
    #[arg(long, hide = true)]
    as_daemon: bool,
    /// Do everything but mount, for mount(8) with `-f`.
    #[arg(long, hide = true)]
    fake: bool,
}

/// Mounts, and with `--foreground` stays until it is unmounted.
pub fn run(flags: &Flags) -> Result<(), Failure> {
    let settings = flags.settings()?;
    if flags.fake {
        return Ok(());
    }
    if flags.foreground || flags.as_daemon { foreground::run(flags, &settings) } else { daemon::start() }
}

impl Flags {
    fn settings(&self) -> Result<Settings, MountFailure> {
        let mut settings = Settings::default();
        for list in &self.options {
            settings.apply(list.text())?;
        }
        settings.mount.is_read_only |= self.read_only;
        settings.mount.source = self.source.to_string();
        let mut settings = settings.finish();
        if mount::can_read_ahead() {
            settings.leave_reads_to_kernel();
        }
        Ok(settings)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn help_lists_every_option_with_an_effect() {
        let words: Vec<&str> = OPTIONS_HELP.split(|letter: char| " ,=|\n".contains(letter)).collect();
        let missing: Vec<&str> = options::with_effect().filter(|name| !words.contains(name)).collect();
        assert!(missing.is_empty(), "{missing:?}");
    }
}
