use std::ffi::OsString;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use clap::{ArgGroup, Args, ValueEnum};
use config::{
    CopySource, Defaults, ExportFlags, LogFormat, LogLevel, LogSettings, ReadPlus, Rpcbind, ServerSettings, Sources,
};

use super::limit_flags::LimitFlags;
use super::reply_flags::ReplyFlags;
use super::storage_flags::StorageFlags;
use super::write_log_flags::WriteLogFlags;

/// Serve directories, or memory, over NFS.
#[derive(Debug, Args)]
#[command(group = ArgGroup::new("what").args(["export", "config", "exports"]).required(true).multiple(true))]
#[command(
    after_help = "SIGHUP reads the files again; SIGUSR1 logs all counters; SIGUSR2 ends the wait for clients that have not reclaimed what they held \
                        before a restart; SIGTERM and Ctrl-C finish what was accepted, and stop at once \
                        when they come a second time."
)]
pub struct Flags {
    /// Directories to export, each under its absolute path; or `mem:4G` for files in memory, exported as /mem, or
    /// `mem:4G=/name`; or `nfs://host/path?version=3=/name` for what another server exports.
    #[arg(value_name = "DIR")]
    export: Vec<OsString>,
    /// A TOML file with settings and exports.
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// A file with exports in the syntax of exports(5).
    #[arg(long, value_name = "FILE")]
    exports: Option<PathBuf>,
    /// Look for mistakes, print what would be served, and serve nothing. All mistakes are told, and the exit status is
    /// 1 if there are any. A server that is running is not disturbed, and other servers are not asked.
    #[arg(long)]
    check: bool,
    /// With --check: as JSON.
    #[arg(long, requires = "check")]
    json: bool,
    #[command(flatten)]
    offer: OfferFlags,
    #[command(flatten)]
    server: ServerFlags,
    #[command(flatten)]
    limits: LimitFlags,
    #[command(flatten)]
    reply: ReplyFlags,
    #[command(flatten)]
    storage: StorageFlags,
    #[command(flatten)]
    write_log: WriteLogFlags,
}

/// How the directories on the command line are offered.
#[derive(Debug, Args)]
#[command(next_help_heading = "How the DIRs are offered")]
struct OfferFlags {
    /// Who may have them: an address, a network such as 10.0.0.0/8, a host name, or '*' for everybody. May be repeated.
    #[arg(long, value_name = "CLIENT", requires = "export")]
    client: Vec<String>,
    /// Refuse all changes.
    #[arg(long, requires = "export")]
    read_only: bool,
    /// Let the clients' superuser be the superuser.
    #[arg(long, requires = "export", conflicts_with = "all_squash")]
    no_root_squash: bool,
    /// Let every client's user be the anonymous one.
    #[arg(long, requires = "export")]
    all_squash: bool,
    /// The anonymous user.
    #[arg(long, value_name = "UID", requires = "export")]
    anonuid: Option<u32>,
    /// The anonymous group.
    #[arg(long, value_name = "GID", requires = "export")]
    anongid: Option<u32>,
    /// Serve only clients that call from a port below 1024.
    #[arg(long, requires = "export")]
    secure: bool,
    /// Delegate files to clients of NFSv4, which then keep what they know: only for directories that nothing else on this machine
    /// changes. Files in memory are delegated anyway.
    #[arg(long, requires = "export")]
    delegations: bool,
    /// Acknowledge changes of names and attributes before they are on stable storage: faster, and a crash of this
    /// machine may undo them.
    #[arg(long = "async", requires = "export")]
    is_async: bool,
    /// Inject faults, such as `read:delay=50ms,write:error=nospace@3`, to test clients.
    #[arg(long, value_name = "PLAN", requires = "export")]
    fault: Option<String>,
}

/// How the server runs. What is given here goes before what the configuration file says.
#[derive(Debug, Args)]
#[command(next_help_heading = "How the server runs")]
struct ServerFlags {
    /// Where to listen, over TCP and UDP; port 0 takes a free one. May be repeated. [default: port 2049 of 127.0.0.1 and ::1]
    #[arg(long, value_name = "ADDR:PORT", value_parser = config::parse_listen)]
    listen: Vec<SocketAddr>,
    /// Who tells clients the ports: this server on port 111, the machine's rpcbind, or nobody. [default: off]
    #[arg(long, value_name = "WHO")]
    rpcbind: Option<RpcbindFlag>,
    /// Where to keep what has to survive a restart. [default: /var/lib/wharf, or ~/.local/state/wharf]
    #[arg(long, value_name = "DIR")]
    state_dir: Option<PathBuf>,
    /// How many event loops run; 0 is one per processor. [default: 0]
    #[arg(long, value_name = "COUNT")]
    loops: Option<usize>,
    /// Keep each event loop on a processor of its own.
    #[arg(long)]
    pin: bool,
    /// Serve connections that ask for little at a time before those that ask for much, and clients by turns. [default: on]
    #[arg(long, overrides_with = "no_fairness")]
    fairness: bool,
    /// Serve connections in the order in which they become ready, for comparisons.
    #[arg(long, overrides_with = "fairness")]
    no_fairness: bool,
    /// For how long a loop looks for calls before it sleeps, while they follow one another more closely than that; or `off`.
    /// [default: 100us]
    #[arg(long, value_name = "TIME", value_parser = parse_busy_poll)]
    busy_poll: Option<Pause>,
    /// How long a client of NFSv4 may be silent before it can lose what it holds. [default: 90s]
    #[arg(long, value_name = "TIME", value_parser = config::parse_lease)]
    lease: Option<Duration>,
    /// How long clients may reclaim what they held before a restart, while nobody else locks. [default: 90s]
    #[arg(long, value_name = "TIME", value_parser = config::parse_lease)]
    grace: Option<Duration>,
    /// Call owners of files NAME@DOMAIN to clients of NFSv4, by the names of this machine's users and groups, and not by number.
    #[arg(long, value_name = "DOMAIN", value_parser = config::parse_domain)]
    domain: Option<String>,
    /// What READ_PLUS of NFSv4.2 tells: nothing (clients use READ), data alone, the file system's holes, or zeros as holes
    /// too. [default: extents]
    #[arg(long, value_name = "WHAT")]
    read_plus: Option<ReadPlusFlag>,
    /// From which size on a READ is sent from the file itself and not copied first, where that never waits; or `never`. A third of it is
    /// enough for the first reply of a send. [default: 24K]
    #[arg(long, value_name = "SIZE", value_parser = parse_sendfile)]
    sendfile: Option<Sendfile>,
    /// How many open files each thread keeps; 0 opens and closes the file for each READ and WRITE. [default: as many as
    /// descriptors and memory allow]
    #[arg(long, value_name = "COUNT")]
    open_files: Option<usize>,
    /// How long an open file is kept that nobody uses, to twice that. [default: 10s]
    #[arg(long, value_name = "TIME", value_parser = config::parse_time)]
    open_file_idle: Option<Duration>,
    /// Let clients of NFSv4.2 have files copied here from other servers: those at this address or in this network.
    #[arg(long, value_name = "NETWORK")]
    copy_from: Vec<CopySource>,
    /// The form of the log. [default: text]
    #[arg(long, value_name = "FORM")]
    log_format: Option<LogFormatFlag>,
    /// The least severity that is logged. [default: info]
    #[arg(long, value_name = "LEVEL")]
    log_level: Option<LogLevelFlag>,
}

/// A time, or none; a type of its own, since clap takes an `Option` for a flag that may be missing.
#[derive(Debug, Clone, Copy)]
struct Pause(Option<Duration>);

/// A size, or none, as [`Pause`] is a time.
#[derive(Debug, Clone, Copy)]
struct Sendfile(Option<u32>);

fn parse_sendfile(text: &str) -> Result<Sendfile, config::SizeOrWordError> {
    config::parse_threshold(text).map(Sendfile)
}

fn parse_busy_poll(text: &str) -> Result<Pause, config::DurationError> {
    config::parse_busy_poll(text).map(Pause)
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum RpcbindFlag {
    Builtin,
    Register,
    Off,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum ReadPlusFlag {
    None,
    Data,
    Extents,
    Zeros,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum LogFormatFlag {
    Text,
    Json,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum LogLevelFlag {
    Error,
    Warn,
    Info,
    Debug,
    Trace,
}

impl Flags {
    /// Whether to look and not to serve.
    pub fn is_check(&self) -> bool {
        self.check
    }

    /// Whether what is printed is to be JSON.
    pub fn is_json(&self) -> bool {
        self.json
    }

    /// Where to read what to serve.
    pub fn sources(&self, base: PathBuf, defaults: Defaults) -> Sources {
        Sources {
            flags: self.export_flags(),
            config: self.config.clone(),
            exports: self.exports.clone(),
            base,
            defaults,
        }
    }

    fn export_flags(&self) -> ExportFlags {
        let offer = &self.offer;
        ExportFlags {
            exports: self.export.clone(),
            clients: offer.client.clone(),
            no_root_squash: offer.no_root_squash,
            all_squash: offer.all_squash,
            read_only: offer.read_only,
            delegations: offer.delegations,
            anonymous_uid: offer.anonuid,
            anonymous_gid: offer.anongid,
            secure: offer.secure,
            is_async: offer.is_async,
            fault: offer.fault.clone(),
        }
    }

    /// What the command line says of how the server runs.
    pub fn settings(&self) -> ServerSettings {
        let server = &self.server;
        ServerSettings {
            listen: (!server.listen.is_empty()).then(|| server.listen.clone()),
            rpcbind: server.rpcbind.map(RpcbindFlag::setting),
            state_dir: server.state_dir.clone(),
            loops: server.loops,
            pin: server.pin.then_some(true),
            busy_poll: server.busy_poll.map(|window| window.0),
            fairness: server.no_fairness.then_some(false).or(server.fairness.then_some(true)),
            lease: server.lease,
            grace: server.grace,
            domain: server.domain.clone(),
            read_plus: server.read_plus.map(ReadPlusFlag::setting),
            sendfile_bytes: server.sendfile.map(|sendfile| sendfile.0),
            open_files: server.open_files,
            open_file_idle: server.open_file_idle,
            copy_from: (!server.copy_from.is_empty()).then(|| server.copy_from.clone()),
            reply: self.reply.settings(),
            storage: self.storage.settings(),
            write_log: self.write_log.settings(),
            limits: self.limits.settings(),
            log: LogSettings {
                format: server.log_format.map(LogFormatFlag::setting),
                level: server.log_level.map(LogLevelFlag::setting),
            },
        }
    }
}

impl RpcbindFlag {
    fn setting(self) -> Rpcbind {
        match self {
            RpcbindFlag::Builtin => Rpcbind::Builtin,
            RpcbindFlag::Register => Rpcbind::Register,
            RpcbindFlag::Off => Rpcbind::Off,
        }
    }
}

impl ReadPlusFlag {
    fn setting(self) -> ReadPlus {
        match self {
            ReadPlusFlag::None => ReadPlus::None,
            ReadPlusFlag::Data => ReadPlus::Data,
            ReadPlusFlag::Extents => ReadPlus::Extents,
            ReadPlusFlag::Zeros => ReadPlus::Zeros,
        }
    }
}

impl LogFormatFlag {
    fn setting(self) -> LogFormat {
        match self {
            LogFormatFlag::Text => LogFormat::Text,
            LogFormatFlag::Json => LogFormat::Json,
        }
    }
}

impl LogLevelFlag {
    fn setting(self) -> LogLevel {
        match self {
            LogLevelFlag::Error => LogLevel::Error,
            LogLevelFlag::Warn => LogLevel::Warn,
            LogLevelFlag::Info => LogLevel::Info,
            LogLevelFlag::Debug => LogLevel::Debug,
            LogLevelFlag::Trace => LogLevel::Trace,
        }
    }
}
