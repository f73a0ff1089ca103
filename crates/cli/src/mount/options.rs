//! The options of `-o`, with the names and meanings of nfs(5) and mount(8).

use std::str::FromStr;
use std::time::Duration;

use client::{NameCaching, Transport, Version};
use mount::Validity;

/// Options as they were written, which are known to make sense.
#[derive(Debug, Clone)]
pub struct OptionList(String);

impl OptionList {
    /// As they were written.
    pub fn text(&self) -> &str {
        &self.0
    }
}

impl FromStr for OptionList {
    type Err = OptionError;

    fn from_str(text: &str) -> Result<OptionList, OptionError> {
        Settings::default().apply(text)?;
        Ok(OptionList(text.to_owned()))
    }
}

/// Why an option makes no sense.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum OptionError {
    /// There is none of this name.
    #[error("there is no option '{0}'; wharf mount --help lists all, and sloppy passes over those that do not exist")]
    Unknown(String),
    /// It needs a value and has none.
    #[error("option '{0}' needs a value: write {0}=VALUE")]
    NoValue(String),
    /// It has a value and takes none.
    #[error("option '{0}' takes no value")]
    HasValue(String),
    /// The value is not one of the option's.
    #[error("'{value}' is no value of option '{name}': {expected}")]
    Value {
        /// The option.
        name: String,
        /// The value.
        value: String,
        /// What there can be.
        expected: &'static str,
    },
}

/// What all options together say.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// How to talk to the server.
    pub client: client::Options,
    /// How to mount.
    pub mount: mount::Options,
    /// How long to try again when the server does not answer at first.
    pub retry: Option<Duration>,
    /// Whether to go on trying behind the caller's back.
    pub is_background: bool,
    keeps_attributes: bool,
}

impl Default for Settings {
    fn default() -> Settings {
        let client = client::Options {
            version: Version::V4_2,
            lowest_version: Some(Version::V2),
            is_hard: true,
            ..client::Options::default()
        };
        let mount = mount::Options::default();
        Settings { client, mount, retry: None, is_background: false, keeps_attributes: true }
    }
}

/// What an option without a value does.
type Flag = fn(&mut Settings);

const FLAGS: &[(&str, Flag)] = &[
    ("ro", |all| all.mount.is_read_only = true),
    ("rw", |all| all.mount.is_read_only = false),
    ("exec", |all| all.mount.allows_programs = true),
    ("noexec", |all| all.mount.allows_programs = false),
    ("dev", |all| all.mount.allows_devices = true),
    ("nodev", |all| all.mount.allows_devices = false),
    ("suid", |all| all.mount.allows_set_ids = true),
    ("nosuid", |all| all.mount.allows_set_ids = false),
    ("sync", |all| all.mount.is_synchronous = true),
    ("async", |all| all.mount.is_synchronous = false),
    ("allow_other", |all| all.mount.allows_others = true),
    ("noallow_other", |all| all.mount.allows_others = false),
    ("writeback", |all| all.mount.is_writeback = true),
    ("direct", |all| {
        all.mount.is_direct = true;
        all.client.caching.is_direct = true;
    }),
    ("lock", |all| all.mount.passes_locks = true),
    ("nolock", |all| all.mount.passes_locks = false),
    ("rdirplus", |all| all.mount.lists_files = true),
    ("nordirplus", |all| all.mount.lists_files = false),
    ("readplus", |all| all.client.uses_read_plus = true),
    ("noreadplus", |all| all.client.uses_read_plus = false),
    ("hard", |all| all.client.is_hard = true),
    ("soft", |all| all.client.is_hard = false),
    ("softerr", |all| all.client.is_hard = false),
    ("tcp", |all| all.client.transport = Transport::Stream),
    ("udp", |all| all.client.transport = Transport::Datagram),
    ("resvport", |all| all.client.use_privileged_port = true),
    ("noresvport", |all| all.client.use_privileged_port = false),
    ("cto", |all| all.client.caching.close_to_open = true),
    ("nocto", |all| all.client.caching.close_to_open = false),
    ("ac", |all| all.keeps_attributes = true),
    ("noac", |all| all.keeps_attributes = false),
    ("bg", |all| all.is_background = true),
    ("fg", |all| all.is_background = false),
];

/// What an option with a value does.
type Assignment = fn(&mut Settings, &Value<'_>) -> Result<(), OptionError>;

const ASSIGNMENTS: &[(&str, Assignment)] = &[
    ("vers", |all, value| all.set_version(value)),
    ("nfsvers", |all, value| all.set_version(value)),
    ("minorversion", |all, value| all.set_minor_version(value)),
    ("proto", |all, value| value.transport().map(|transport| all.client.transport = transport)),
    ("port", |all, value| value.port().map(|port| all.client.nfs_port = port)),
    ("mountport", |all, value| value.port().map(|port| all.client.mount_port = port)),
    ("lockport", |all, value| value.port().map(|port| all.client.lock_port = port)),
    ("nconnect", |all, value| value.connections().map(|count| all.client.connections = count)),
    ("sec", |_, value| value.security()),
    ("rsize", |all, value| value.transfer().map(|bytes| all.client.read_bytes = Some(bytes))),
    ("wsize", |all, value| value.transfer().map(|bytes| all.client.write_bytes = Some(bytes))),
    ("timeo", |all, value| value.tenths().map(|time| all.client.timeout = Some(time))),
    ("retrans", |all, value| value.count().map(|count| all.client.retransmissions = Some(count))),
    ("retry", |all, value| value.count().map(|minutes| all.retry = Some(Duration::from_secs(60) * minutes))),
    ("acregmin", |all, value| value.seconds().map(|time| all.client.caching.file_min = time)),
    ("acregmax", |all, value| value.seconds().map(|time| all.client.caching.file_max = time)),
    ("acdirmin", |all, value| value.seconds().map(|time| all.client.caching.dir_min = time)),
    ("acdirmax", |all, value| value.seconds().map(|time| all.client.caching.dir_max = time)),
    ("actimeo", |all, value| value.seconds().map(|time| all.set_all_times(time))),
    ("lookupcache", |all, value| value.names().map(|names| all.client.caching.names = names)),
    ("local_lock", |all, value| value.local_lock().map(|is_local| all.mount.passes_locks = !is_local)),
];

/// Options that change nothing here: the server keeps the times of access, and the rest is for other programs or for what this
/// client does anyway.
const WITHOUT_EFFECT: &[&str] = &[
    "defaults",
    "atime",
    "noatime",
    "relatime",
    "norelatime",
    "strictatime",
    "nostrictatime",
    "lazytime",
    "nolazytime",
    "diratime",
    "nodiratime",
    "intr",
    "nointr",
    "sharecache",
    "nosharecache",
    "acl",
    "noacl",
    "_netdev",
    "nofail",
    "auto",
    "noauto",
    "nouser",
    "user",
    "users",
    "nouser",
    "owner",
    "group",
    "addr",
    "clientaddr",
    "mountaddr",
    "comment",
    "default_permissions",
    "sloppy",
];

impl Settings {
    /// Does what a list of options says, from its left to its right.
    ///
    /// # Errors
    /// An [`OptionError`] for the first that makes no sense.
    pub fn apply(&mut self, list: &str) -> Result<(), OptionError> {
        let words = || list.split(',').filter(|word| !word.is_empty());
        let is_sloppy = words().any(|word| word == "sloppy");
        for word in words() {
            match self.apply_one(word) {
                Err(OptionError::Unknown(_)) if is_sloppy => {}
                other => other?,
            }
        }
        Ok(())
    }

    fn apply_one(&mut self, word: &str) -> Result<(), OptionError> {
        let (name, value) = word.split_once('=').map_or((word, None), |(name, value)| (name, Some(value)));
        let flag = FLAGS.iter().find(|flag| flag.0 == name);
        let assignment = ASSIGNMENTS.iter().find(|assignment| assignment.0 == name);
        match (flag, assignment, value) {
            (Some((_, flag)), _, None) => flag(self),
            (Some(_), _, Some(_)) => return Err(OptionError::HasValue(name.to_owned())),
            (_, Some((_, assign)), Some(text)) => assign(self, &Value { name, text })?,
            (_, Some(_), None) => return Err(OptionError::NoValue(name.to_owned())),
            _ if WITHOUT_EFFECT.contains(&name) || name.starts_with("x-") => {}
            _ => return Err(OptionError::Unknown(name.to_owned())),
        }
        Ok(())
    }

    /// Draws the conclusions that depend on several options.
    pub fn finish(mut self) -> Settings {
        if !self.keeps_attributes {
            // nfs(5): noac is actimeo=0 and sync.
            self.set_all_times(Duration::ZERO);
            self.mount.is_synchronous = true;
        }
        let caching = &self.client.caching;
        let defaults = Validity::default();
        let names =
            if caching.names == NameCaching::Off { Duration::ZERO } else { defaults.names.min(caching.dir_min) };
        self.mount.validity = Validity {
            attributes: defaults.attributes.min(caching.file_min),
            names,
            absences: if caching.names == NameCaching::All { names } else { Duration::ZERO },
        };
        self.mount.read_ahead_bytes = caching.read_ahead_bytes;
        self
    }

    fn set_all_times(&mut self, time: Duration) {
        let caching = &mut self.client.caching;
        (caching.file_min, caching.file_max, caching.dir_min, caching.dir_max) = (time, time, time, time);
    }

    fn set_version(&mut self, value: &Value<'_>) -> Result<(), OptionError> {
        let (version, lowest) = match value.text {
            "2" => (Version::V2, None),
            "3" => (Version::V3, None),
            "4" => (Version::V4_2, Some(Version::V4_0)),
            "4.0" => (Version::V4_0, None),
            "4.1" => (Version::V4_1, None),
            "4.2" => (Version::V4_2, None),
            _ => return Err(value.wrong("2, 3, 4, 4.0, 4.1 and 4.2 are there")),
        };
        (self.client.version, self.client.lowest_version) = (version, lowest);
        Ok(())
    }

    fn set_minor_version(&mut self, value: &Value<'_>) -> Result<(), OptionError> {
        let version = match value.text {
            "0" => Version::V4_0,
            "1" => Version::V4_1,
            "2" => Version::V4_2,
            _ => return Err(value.wrong("0, 1 and 2 are there")),
        };
        (self.client.version, self.client.lowest_version) = (version, None);
        Ok(())
    }
}

/// The value of an option.
struct Value<'a> {
    name: &'a str,
    text: &'a str,
}

impl Value<'_> {
    fn wrong(&self, expected: &'static str) -> OptionError {
        OptionError::Value { name: self.name.to_owned(), value: self.text.to_owned(), expected }
    }

    fn number<T: FromStr>(&self, expected: &'static str) -> Result<T, OptionError> {
        self.text.parse().map_err(|_| self.wrong(expected))
    }

    fn count(&self) -> Result<u32, OptionError> {
        self.number("a number from 0 on is wanted")
    }

    fn seconds(&self) -> Result<Duration, OptionError> {
        self.number("a number of seconds is wanted").map(|seconds: u32| Duration::from_secs(seconds.into()))
    }

    fn tenths(&self) -> Result<Duration, OptionError> {
        let expected = "a number of tenths of a second from 1 on is wanted";
        let tenths: u32 = self.number(expected)?;
        if tenths == 0 { Err(self.wrong(expected)) } else { Ok(Duration::from_millis(100) * tenths) }
    }

    /// A port; nfs(5) has 0 for asking rpcbind.
    fn port(&self) -> Result<Option<u16>, OptionError> {
        self.number("ports are 1 to 65535, and 0 asks rpcbind").map(|port| Some(port).filter(|port| *port != 0))
    }

    fn connections(&self) -> Result<usize, OptionError> {
        let expected = "1 to 64 connections are possible";
        let count = self.number(expected)?;
        if (1..=client::Options::MAX_CONNECTIONS).contains(&count) { Ok(count) } else { Err(self.wrong(expected)) }
    }

    fn transfer(&self) -> Result<u32, OptionError> {
        let expected = "a number of bytes from 1024 on is wanted, such as 65536 or 1M";
        let bytes = config::parse_size(self.text).ok().and_then(|bytes| u32::try_from(bytes).ok());
        bytes.filter(|bytes| *bytes >= 1024).ok_or_else(|| self.wrong(expected))
    }

    fn transport(&self) -> Result<Transport, OptionError> {
        match self.text {
            "tcp" | "tcp6" => Ok(Transport::Stream),
            "udp" | "udp6" => Ok(Transport::Datagram),
            _ => Err(self.wrong("tcp and udp are there")),
        }
    }

    fn security(&self) -> Result<(), OptionError> {
        match self.text {
            "sys" => Ok(()),
            _ => Err(self.wrong("only sys is there: Wharf has no Kerberos")),
        }
    }

    fn names(&self) -> Result<NameCaching, OptionError> {
        match self.text {
            "all" => Ok(NameCaching::All),
            "pos" | "positive" => Ok(NameCaching::Positive),
            "none" => Ok(NameCaching::Off),
            _ => Err(self.wrong("all, pos and none are there")),
        }
    }

    fn local_lock(&self) -> Result<bool, OptionError> {
        match self.text {
            "none" => Ok(false),
            "all" => Ok(true),
            _ => Err(self.wrong("all and none are there: locks of both kinds are local, or none")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(list: &str) -> Settings {
        let mut settings = Settings::default();
        settings.apply(list).unwrap();
        settings.finish()
    }

    #[test]
    fn options_mean_what_nfs_5_says() {
        let all =
            settings("vers=4.1,rsize=65536,wsize=1M,timeo=600,retrans=2,soft,nconnect=4,port=7,mountport=8,noreadplus");
        assert_eq!((all.client.version, all.client.lowest_version), (Version::V4_1, None));
        assert_eq!((all.client.read_bytes, all.client.write_bytes), (Some(65536), Some(1 << 20)));
        assert_eq!((all.client.timeout, all.client.retransmissions), (Some(Duration::from_secs(60)), Some(2)));
        assert_eq!((all.client.nfs_port, all.client.mount_port, all.client.connections), (Some(7), Some(8), 4));
        assert!(!all.client.is_hard && !all.client.uses_read_plus);
        let all = settings("ro,noexec,nodev,nosuid,sync,direct,nolock,nordirplus,noatime,_netdev,x-systemd.automount");
        assert!(
            all.mount.is_read_only && all.mount.is_synchronous && all.mount.is_direct && all.client.caching.is_direct
        );
        assert!(!all.mount.allows_programs && !all.mount.allows_devices && !all.mount.allows_set_ids);
        assert!(!all.mount.passes_locks && !all.mount.lists_files);
    }

    #[test]
    fn mount_is_hard_and_takes_the_newest_version_when_nothing_is_said() {
        let all = settings("");
        assert_eq!((all.client.version, all.client.lowest_version), (Version::V4_2, Some(Version::V2)));
        assert!(all.client.is_hard);
        assert_eq!(settings("vers=4").client.lowest_version, Some(Version::V4_0));
    }

    #[test]
    fn later_option_goes_before_an_earlier_one() {
        assert!(settings("soft,hard").client.is_hard);
        assert!(!settings("ro,rw").mount.is_read_only);
    }

    #[test]
    fn kernel_believes_nothing_that_the_options_say_is_not_to_be_believed() {
        assert_eq!(settings("noac").mount.validity, Validity::NONE);
        assert!(settings("noac").mount.is_synchronous);
        assert_eq!(settings("actimeo=0").mount.validity, Validity::NONE);
        let validity = settings("lookupcache=pos").mount.validity;
        assert!(validity.absences.is_zero() && !validity.names.is_zero());
        assert!(settings("lookupcache=none").mount.validity.names.is_zero());
    }

    #[test]
    fn option_that_makes_no_sense_is_named_with_what_to_do() {
        for (list, message) in [
            ("colour", "there is no option 'colour'; wharf mount --help lists all"),
            ("ro,colour=red", "there is no option 'colour'"),
            ("vers=5", "'5' is no value of option 'vers': 2, 3, 4, 4.0, 4.1 and 4.2 are there"),
            ("rsize=big", "'big' is no value of option 'rsize'"),
            ("rsize", "option 'rsize' needs a value"),
            ("soft=1", "option 'soft' takes no value"),
            ("sec=krb5", "only sys is there"),
            ("timeo=0", "tenths of a second"),
            ("nconnect=65", "1 to 64"),
            ("proto=rdma", "tcp and udp are there"),
        ] {
            let error = list.parse::<OptionList>().unwrap_err().to_string();
            assert!(error.contains(message), "{list}: {error}");
        }
        assert!("sloppy,colour=red,ro".parse::<OptionList>().is_ok());
        assert!("sloppy,vers=5".parse::<OptionList>().is_err());
    }
}
