//! `wharf mount`: an export of a server as a directory of this machine, through FUSE.

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
  proto=, tcp, udp, port=, mountport=, mountproto=, nconnect=, resvport, noresvport, sec=sys
  rsize=, wsize=, timeo= (tenths of a second), retrans=, hard [default], soft, retry= (minutes), bg, fg
  acregmin=, acregmax=, acdirmin=, acdirmax=, actimeo= (seconds), ac, noac, cto, nocto,
  lookupcache=all|pos|none, rdirplus, nordirplus, readplus, noreadplus, delegations, nodelegations,
  lock, nolock, local_lock=all|flock|posix|none
  ro, rw, dev, nodev, suid, nosuid, exec, noexec, sync, async, user, users, owner, group
  allow_other, noallow_other         whether other users may use the mount [default: those of the superuser]
  direct                             reads and writes go to the server each time
  writeback                          the kernel writes late; only where nobody else changes the files
  sloppy                             options that do not exist are passed over
  Others of both pages have no effect, or are refused with the reason (docs/mounting.md).

The mount ends with umount DIR (of ordinary users: fusermount3 -u DIR), or with Ctrl-C in the foreground.";

/// Mount an export of a server on a directory of this machine.
#[derive(Debug, Args)]
#[command(after_long_help = OPTIONS_HELP, after_help = "The options of -o are listed by --help.")]
pub struct Flags {
    /// What to mount: `nfs://host[:port]/export[/dir]`, or `host:/export`.
    #[arg(value_name = "SOURCE")]
    source: Source,
    /// The directory to mount on.
    #[arg(value_name = "DIR")]
    dir: PathBuf,
    /// Options with commas between them, such as vers=4.2,ro,soft.
    #[arg(short = 'o', value_name = "OPTIONS")]
    options: Vec<OptionList>,
    /// Stay in the foreground and log to standard error.
    #[arg(short, long)]
    foreground: bool,
    /// Mount for reading only.
    #[arg(short, long)]
    read_only: bool,
    /// Tell the process that waits on standard output when it is mounted, and let go of the terminal then.
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
