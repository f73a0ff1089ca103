use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use clap::error::ErrorKind;
use clap::{ArgGroup, Args, Command, ValueEnum};
use config::{
    CopySource, Defaults, ExportFlags, Listen, LogFormat, LogLevel, LogSettings, ReadPlus, Rpcbind, ServerSettings,
    Sources,
};
use server::DelegationPolicy;

use super::limit_flags::LimitFlags;
use super::reply_flags::ReplyFlags;
use super::storage_flags::StorageFlags;
use super::write_log_flags::WriteLogFlags;
use crate::failure::Failure;

/// Serve directories or memory over NFS.
#[derive(Debug, Args)]
#[command(group = ArgGroup::new("what").args(["export", "config", "exports"]).required(true).multiple(true))]
#[command(
    after_help = "Signals: SIGHUP reloads the configuration; SIGUSR1 logs all counters; SIGUSR2 ends the grace period; \
                  SIGTERM and Ctrl-C complete accepted requests and stop, a second one stops at once."
)]
pub struct Flags {
    /// What to export: a directory, `mem:4G` for up to 4 GiB of files in memory, or `nfs://host/path` to re-export
    /// another server's directory. A directory is exported under its absolute path and memory (1 GiB unless a size
    /// is given) as /mem; append `=/name` for another name.
    #[arg(value_name = "DIR")]
    export: Vec<OsString>,
    /// Read settings and exports from this TOML file (docs/exports.md). Flags override its settings.
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Read exports from this file in the syntax of exports(5).
    #[arg(long, value_name = "FILE")]
    exports: Option<PathBuf>,
    /// Check the configuration, print what would be served, and exit. Lists all errors; the exit status is 1 if there
    /// are any, or 2 if an argument is wrong. Safe beside a running server; does not contact other servers.
    #[arg(long)]
    check: bool,
    /// With --check: print JSON.
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

/// Export options for the directories on the command line.
#[derive(Debug, Args)]
#[command(next_help_heading = "Export options for the DIRs")]
struct OfferFlags {
    /// Clients that may use the exports: an address, a network such as 10.0.0.0/8, a host name, or '*' for all. May be
    /// repeated. [default: this machine]
    #[arg(long, value_name = "CLIENT")]
    client: Vec<String>,
    /// Export read-only.
    #[arg(long)]
    read_only: bool,
    /// Do not let clients read or set access lists, which the server applies in any case. Linux's `ls -l` asks for the
    /// list of each file over NFSv4.
    #[arg(long)]
    no_acl: bool,
    /// Do not let clients use extended attributes. Linux's `ls -l` asks for those of each file over NFSv4.2.
    #[arg(long)]
    no_xattr: bool,
    /// Do not squash root: root on a client acts as root. [default: root acts as the anonymous user; if the server is
    /// not run by root, everyone does]
    #[arg(long, conflicts_with = "all_squash")]
    no_root_squash: bool,
    /// Squash all users: everyone acts as the anonymous user.
    #[arg(long)]
    all_squash: bool,
    /// User ID of the anonymous user. [default: 65534, or the server's own user if it is not run by root]
    #[arg(long, value_name = "UID", value_parser = config::parse_id)]
    anonuid: Option<u32>,
    /// Group ID of the anonymous user. [default: 65534, or the server's own group if it is not run by root]
    #[arg(long, value_name = "GID", value_parser = config::parse_id)]
    anongid: Option<u32>,
    /// Refuse requests from source ports of 1024 and above.
    #[arg(long)]
    secure: bool,
    /// Delegate files to NFSv4 clients, which then open and cache them without asking: `auto` where the server learns
    /// when a local program uses the file, `always` even if it does not, or `off`. [default: auto]
    #[arg(long, value_name = "WHEN")]
    delegations: Option<DelegationsFlag>,
    /// Reply to changes of names and attributes before they are on stable storage, as `async` in exports(5). Faster,
    /// but a crash of this machine may undo them.
    #[arg(long = "async")]
    is_async: bool,
    /// Inject faults to test clients, such as `read:delay=50ms,write:error=nospace@3`.
    #[arg(long, value_name = "PLAN")]
    fault: Option<String>,
}

/// How the server runs. These flags override the configuration file.
#[derive(Debug, Args)]
#[command(next_help_heading = "Server")]
struct ServerFlags {
    /// Address and port to listen on, over TCP and UDP; port 0 picks a free one. A port alone, or `localhost:PORT`, is
    /// for this machine, `:PORT` for all addresses; a link-local address has its interface, as in [fe80::1%eth0]:2049.
    /// May be repeated. [default: localhost:2049]
    #[arg(long, alias = "port", value_name = "ADDR:PORT")]
    listen: Vec<Listen>,
    /// Portmapper for clients that ask for ports: `builtin` answers on port 111, `register` uses this machine's
    /// rpcbind, `off` does neither. [default: off]
    #[arg(long, value_name = "WHO")]
    rpcbind: Option<RpcbindFlag>,
    /// Directory for state that must survive a restart, one per server. [default: $STATE_DIRECTORY, or /var/lib/wharf
    /// for root, or ~/.local/state/wharf]
    #[arg(long, value_name = "DIR")]
    state_dir: Option<PathBuf>,
    /// Number of event loops, each one thread; 0 means one per processor. [default: 0]
    #[arg(long, value_name = "COUNT")]
    loops: Option<usize>,
    /// Pin each event loop to its own processor.
    #[arg(long)]
    pin: bool,
    /// Serve connections with few, small requests before busy ones, and clients in turn. This is the default.
    #[arg(long, overrides_with = "no_fairness")]
    fairness: bool,
    /// Serve connections in the order in which they become ready. For comparisons.
    #[arg(long, overrides_with = "fairness")]
    no_fairness: bool,
    /// Busy-poll for up to this long before an event loop sleeps, while requests arrive at shorter intervals; up to
    /// 10ms, or `off`. Lower latency for more processor time. [default: 100us]
    #[arg(long, value_name = "TIME", value_parser = parse_busy_poll)]
    busy_poll: Option<Pause>,
    /// NFSv4 lease time: a client silent for longer may lose its opens and locks. At least 1s, in whole seconds.
    /// [default: 90s]
    #[arg(long, value_name = "TIME", value_parser = config::parse_lease)]
    lease: Option<Duration>,
    /// Grace period: after a restart, new opens and locks wait up to this long for clients to reclaim theirs. It ends
    /// early once all have, and is never shorter than the previous lease time. [default: 90s]
    #[arg(long, value_name = "TIME", value_parser = config::parse_lease)]
    grace: Option<Duration>,
    /// NFSv4 ID-mapping domain: send owners as NAME@DOMAIN, as idmapd does. [default: numeric IDs]
    #[arg(long, value_name = "DOMAIN", value_parser = config::parse_domain)]
    domain: Option<String>,
    /// READ_PLUS (NFSv4.2): `none` does not offer it, `data` never reports holes, `extents` reports the file system's
    /// holes and blocks of zeros among small ones, `zeros` reports blocks of zeros everywhere. [default: extents]
    #[arg(long, value_name = "WHAT")]
    read_plus: Option<ReadPlusFlag>,
    /// Send the data of READs of at least this size with sendfile instead of copying, if it is in memory; or `never`.
    /// [default: 24K]
    #[arg(long, value_name = "SIZE", value_parser = parse_sendfile)]
    sendfile: Option<Sendfile>,
    /// Number of open files that each thread caches; 0 opens and closes the file for each READ and WRITE. [default:
    /// from the limits of file descriptors and memory]
    #[arg(long, value_name = "COUNT")]
    open_files: Option<usize>,
    /// Close a cached file after this time without use, at most twice as late. [default: 10s]
    #[arg(long, value_name = "TIME", value_parser = config::parse_time)]
    open_file_idle: Option<Duration>,
    /// Let NFSv4.2 clients copy files here from servers at this address or in this network (server-to-server COPY). The
    /// server connects to any port there. May be repeated. [default: refused]
    #[arg(long, value_name = "NETWORK")]
    copy_from: Vec<CopySource>,
    /// Log format: `text`, or `json` with one object per line. [default: text]
    #[arg(long, value_name = "FORM")]
    log_format: Option<LogFormatFlag>,
    /// Lowest severity to log. [default: info]
    #[arg(long, value_name = "LEVEL")]
    log_level: Option<LogLevelFlag>,
}

impl OfferFlags {
    /// The first option that is given.
    fn first_given(&self) -> Option<&'static str> {
        // Without `..`, so that no option is forgotten here.
        let OfferFlags {
            client,
            read_only,
            no_acl,
            no_xattr,
            no_root_squash,
            all_squash,
            anonuid,
            anongid,
            secure,
            delegations,
            is_async,
            fault,
        } = self;
        let given = [
            ("--client", !client.is_empty()),
            ("--read-only", *read_only),
            ("--no-acl", *no_acl),
            ("--no-xattr", *no_xattr),
            ("--no-root-squash", *no_root_squash),
            ("--all-squash", *all_squash),
            ("--anonuid", anonuid.is_some()),
            ("--anongid", anongid.is_some()),
            ("--secure", *secure),
            ("--delegations", delegations.is_some()),
            ("--async", *is_async),
            ("--fault", fault.is_some()),
        ];
        given.into_iter().find(|(_, is_given)| *is_given).map(|(option, _)| option)
    }
}

/// A time or none. It is a type of its own because clap takes an `Option` for an optional flag.
#[derive(Debug, Clone, Copy)]
struct Pause(Option<Duration>);

/// A size or none, as [`Pause`] is a time.
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
enum DelegationsFlag {
    Auto,
    Always,
    Off,
}

impl DelegationsFlag {
    fn policy(self) -> DelegationPolicy {
        match self {
            DelegationsFlag::Auto => DelegationPolicy::Auto,
            DelegationsFlag::Always => DelegationPolicy::Always,
            DelegationsFlag::Off => DelegationPolicy::Off,
        }
    }
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
    /// Whether to check the configuration only.
    pub fn is_check(&self) -> bool {
        self.check
    }

    /// Whether to print JSON.
    pub fn is_json(&self) -> bool {
        self.json
    }

    /// Returns the sources of settings and exports.
    pub fn sources(&self, base: PathBuf, defaults: Defaults) -> Sources {
        Sources {
            flags: self.export_flags(),
            config: self.config.clone(),
            exports: self.exports.clone(),
            base,
            defaults,
        }
    }

    /// Refuses options for directories without one: those of a file have theirs there.
    ///
    /// # Errors
    /// The first such option.
    pub fn check_offer(&self) -> Result<(), Failure> {
        match self.offer.first_given().filter(|_| self.export.is_empty()) {
            None => Ok(()),
            Some(option) => Err(Failure::Usage(Flags::augment_args(Command::new("wharf serve")).error(
                ErrorKind::ArgumentConflict,
                format!("{option} is for DIRs on the command line; exports in a file have their options there"),
            ))),
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
            no_acl: offer.no_acl,
            no_xattr: offer.no_xattr,
            delegations: offer.delegations.map(DelegationsFlag::policy).unwrap_or_default(),
            anonymous_uid: offer.anonuid,
            anonymous_gid: offer.anongid,
            secure: offer.secure,
            is_async: offer.is_async,
            fault: offer.fault.clone(),
        }
    }

    /// Returns the settings of the command line.
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
