//! The options of `-o`, with the names and meanings of nfs(5) and mount(8).

mod error;
mod names;
mod value;

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::time::Duration;

use client::{NameCaching, Transport, Version};
use mount::Validity;

pub use error::{OptionError, OptionList};
use names::{ASSIGNMENTS, FLAGS, OTHERS, REFUSED, WITHOUT_EFFECT};
use value::Value;

/// The size of the kernel's reads before it reads ahead. A few of them are cached here for neighbouring reads.
const MAX_KEPT_READ_BYTES: u64 = 128 * 1024;

/// The effect of all options.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// How to talk to the server.
    pub client: client::Options,
    /// How to mount.
    pub mount: mount::Options,
    /// How long to retry if the server does not answer at first.
    pub retry: Option<Duration>,
    /// Whether to continue in the background.
    pub is_background: bool,
    keeps_attributes: bool,
    /// The callback address and port for NFSv4.0, as far as given.
    called_at: (Option<IpAddr>, Option<u16>),
}

/// The names of the options that have an effect.
#[cfg(test)]
pub fn with_effect() -> impl Iterator<Item = &'static str> {
    FLAGS.iter().map(|(name, _)| *name).chain(ASSIGNMENTS.iter().map(|(name, _)| *name))
}

impl Default for Settings {
    fn default() -> Settings {
        let client = client::Options {
            version: Version::V4_2,
            lowest_version: Some(Version::V2),
            is_hard: true,
            uses_write_delegations: true,
            ..client::Options::default()
        };
        let mount = mount::Options::default();
        Settings { client, mount, retry: None, is_background: false, keeps_attributes: true, called_at: (None, None) }
    }
}

impl Settings {
    /// Applies a list of options from left to right.
    ///
    /// # Errors
    /// An [`OptionError`] for the first wrong one.
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
            (_, Some((_, assign)), Some(text)) => assign(self, &Value { name, text })?,
            (Some(_), _, Some(_)) => return Err(OptionError::HasValue(name.to_owned())),
            (_, Some(_), None) => return Err(OptionError::NoValue(name.to_owned())),
            (None, None, _) => pass_over(name)?,
        }
        Ok(())
    }

    /// Applies the combined effects of several options.
    pub fn finish(mut self) -> Settings {
        if !self.keeps_attributes {
            // nfs(5): noac is actimeo=0 and sync.
            self.set_all_times(Duration::ZERO);
            self.mount.is_synchronous = true;
        }
        self.client.callback_address = match self.called_at {
            (None, None) => None,
            // nfs(5): this disables delegations.
            (Some(address), _) if address.is_unspecified() => None,
            (address, port) => {
                let any = IpAddr::V4(Ipv4Addr::UNSPECIFIED);
                Some(SocketAddr::new(address.unwrap_or(any), port.unwrap_or(0)))
            }
        };
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

    /// How to mount in a version of NFS. In NFSv4 all locks are the server's: `nolock` and `local_lock` are options of
    /// older versions (nfs(5)), where a server may lack a lock manager.
    pub fn mount_in(&self, version: Version) -> mount::Options {
        let mount = self.mount.clone();
        match version >= Version::V4_0 {
            true => mount::Options { passes_locks: true, passes_flocks: true, ..mount },
            false => mount,
        }
    }

    /// Leaves read-ahead and its cache to the kernel: a second copy here would cost as much again.
    pub fn leave_reads_to_kernel(&mut self) {
        if !self.mount.is_direct {
            let caching = &mut self.client.caching;
            (caching.read_ahead_bytes, caching.max_kept_read_bytes) = (0, MAX_KEPT_READ_BYTES);
        }
    }

    /// Users' mounts must not grant the rights of a file's owner (mount(8), `owner` and `group`).
    fn distrust_files(&mut self) {
        (self.mount.allows_devices, self.mount.allows_set_ids) = (false, false);
    }

    /// Users' mounts must not execute programs either (mount(8), `user` and `users`).
    fn distrust_programs(&mut self) {
        self.distrust_files();
        self.mount.allows_programs = false;
    }

    fn set_delegations(&mut self, are_used: bool) {
        self.client.uses_delegations = are_used;
        self.client.uses_write_delegations = are_used;
    }

    fn set_transport(&mut self, transport: Transport, needs_ipv6: bool) {
        (self.client.transport, self.client.needs_ipv6) = (transport, needs_ipv6);
    }

    fn set_locks(&mut self, posix: bool, flock: bool) {
        (self.mount.passes_locks, self.mount.passes_flocks) = (posix, flock);
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
            _ => return Err(value.wrong("possible values are 2, 3, 4, 4.0, 4.1 and 4.2")),
        };
        (self.client.version, self.client.lowest_version) = (version, lowest);
        Ok(())
    }

    fn set_minor_version(&mut self, value: &Value<'_>) -> Result<(), OptionError> {
        let version = match value.text {
            "0" => Version::V4_0,
            "1" => Version::V4_1,
            "2" => Version::V4_2,
            _ => return Err(value.wrong("possible values are 0, 1 and 2")),
        };
        (self.client.version, self.client.lowest_version) = (version, None);
        Ok(())
    }
}

/// Accepts an option without effect.
fn pass_over(name: &str) -> Result<(), OptionError> {
    if WITHOUT_EFFECT.contains(&name) || OTHERS.iter().any(|prefix| name.starts_with(prefix)) {
        return Ok(());
    }
    match REFUSED.iter().find(|refused| refused.0 == name) {
        Some((_, reason)) => Err(OptionError::Refused { name: name.to_owned(), reason }),
        None => Err(OptionError::Unknown(name.to_owned())),
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
        assert!(all.client.uses_delegations && !settings("nodelegations").client.uses_delegations);
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
        let all = settings("direct_io");
        assert!(all.mount.is_direct && !all.client.caching.is_direct);
    }

    #[test]
    fn mount_is_hard_and_takes_the_newest_version_when_nothing_is_said() {
        let all = settings("");
        assert_eq!((all.client.version, all.client.lowest_version), (Version::V4_2, Some(Version::V2)));
        assert!(all.client.is_hard);
        assert_eq!(settings("vers=4").client.lowest_version, Some(Version::V4_0));
    }

    #[test]
    fn sizes_of_transfers_are_brought_within_reach() {
        for (text, bytes) in [("512", 4096), ("5000", 4096), ("65536", 65536), ("1M", 1 << 20), ("8M", 1 << 20)] {
            assert_eq!(settings(&format!("rsize={text}")).client.read_bytes, Some(bytes), "{text}");
        }
    }

    #[test]
    fn what_users_mount_is_not_trusted_unless_a_later_option_says_so() {
        let trusted = |list| {
            let mount = settings(list).mount;
            (mount.allows_devices, mount.allows_set_ids, mount.allows_programs)
        };
        assert_eq!(trusted("user"), (false, false, false));
        assert_eq!(trusted("users,exec"), (false, false, true));
        assert_eq!(trusted("owner"), (false, false, true));
        assert_eq!(trusted("exec,group,nouser"), (false, false, true));
    }

    #[test]
    fn netids_with_a_6_want_ipv6_and_port_0_wants_rpcbind() {
        let wanted = |list| (settings(list).client.transport, settings(list).client.needs_ipv6);
        assert_eq!(wanted("proto=tcp"), (Transport::Tcp, false));
        assert_eq!(wanted("proto=udp6"), (Transport::Udp, true));
        assert_eq!((wanted("proto=tcp6"), wanted("proto=tcp6,udp")), ((Transport::Tcp, true), (Transport::Udp, false)));
        assert_eq!(settings("mountproto=udp").client.mount_transport, Some(Transport::Udp));
        assert_eq!((settings("port=0").client.nfs_port, settings("").client.nfs_port), (Some(0), None));
    }

    #[test]
    fn locks_of_either_kind_can_stay_on_this_machine() {
        let passed = |list| (settings(list).mount.passes_locks, settings(list).mount.passes_flocks);
        assert_eq!(passed(""), (true, true));
        assert_eq!(passed("nolock"), (false, false));
        assert_eq!(passed("local_lock=flock"), (true, false));
        assert_eq!(passed("local_lock=posix"), (false, true));
        assert_eq!(passed("local_lock=all,lock"), (true, true));
    }

    #[test]
    fn locks_of_nfsv4_are_the_servers_whatever_the_options_say() {
        for list in ["nolock", "local_lock=flock", "local_lock=posix", "local_lock=all"] {
            let settings = settings(list);
            for version in [Version::V4_0, Version::V4_1, Version::V4_2] {
                let mount = settings.mount_in(version);
                assert!(mount.passes_locks && mount.passes_flocks, "{list}, NFSv{version}");
            }
            for version in [Version::V2, Version::V3] {
                assert_eq!(settings.mount_in(version), settings.mount, "{list}, NFSv{version}");
            }
        }
    }

    #[test]
    fn options_for_others_are_passed_over() {
        let others = "defaults,_netdev,nofail,noauto,x-systemd.automount,X-mount.mkdir=755,comment=x,fsc,namlen=255,\
                      mountvers=3,softreval,migration,max_connect=4,xprtsec=none,write=eager";
        assert_eq!(settings(others), settings(""));
        assert!(settings("write=wait").mount.is_synchronous);
        assert_eq!(settings("sec=krb5:sys"), settings(""));
        assert!(!settings("rdirplus=none").mount.lists_files);
    }

    #[test]
    fn servers_of_version_4_0_call_where_the_options_say_and_nowhere_without_them() {
        let called_at = |list| settings(list).client.callback_address.map(|address| address.to_string());
        assert_eq!(called_at(""), None);
        assert_eq!(called_at("clientaddr=192.0.2.7"), Some("192.0.2.7:0".to_owned()));
        assert_eq!(called_at("clientaddr=2001:db8::7,callbackport=9"), Some("[2001:db8::7]:9".to_owned()));
        assert_eq!(called_at("callbackport=9"), Some("0.0.0.0:9".to_owned()));
        assert_eq!(called_at("callbackport=0"), Some("0.0.0.0:0".to_owned()));
        // nfs(5): this disables delegations.
        assert_eq!((called_at("clientaddr=0.0.0.0"), called_at("clientaddr=::,callbackport=9")), (None, None));
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
            ("colour", "unknown option 'colour'; wharf mount --help lists all"),
            ("ro,colour=red", "unknown option 'colour'"),
            ("vers=5", "invalid value '5' of option 'vers': possible values are 2, 3, 4, 4.0, 4.1 and 4.2"),
            ("rsize=big", "invalid value 'big' of option 'rsize'"),
            ("rsize", "option 'rsize' requires a value"),
            ("soft=1", "option 'soft' takes no value"),
            ("sec=krb5", "only sys is possible"),
            ("timeo=0", "tenths of a second"),
            ("nconnect=65", "1 to 64"),
            ("proto=rdma", "possible values are tcp and udp"),
            ("clientaddr=here", "expected an address of this machine"),
            ("callbackport=70000", "ports are 1 to 65535, and 0 picks a free one"),
            ("rdma", "option 'rdma' is not supported: Wharf supports TCP and UDP only"),
            ("remount,ro", "unmount and mount again"),
            ("context=x", "SELinux labels"),
            ("xprtsec=mtls", "TLS is not supported"),
            ("local_lock=some", "possible values are none, flock, posix and all"),
        ] {
            let error = list.parse::<OptionList>().unwrap_err().to_string();
            assert!(error.contains(message), "{list}: {error}");
        }
        assert!("sloppy,colour=red,ro".parse::<OptionList>().is_ok());
        assert!("sloppy,vers=5".parse::<OptionList>().is_err());
    }
}
