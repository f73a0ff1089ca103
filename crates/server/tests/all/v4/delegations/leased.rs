//! Files of a host directory are delegated under leases, which local processes break.

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use fs_host::{HostFs, HostOptions};
use proto::nfs3::StableHow;
use server::{DelegationPolicy, Squash};

use super::*;
use testing::Scratch;
use testing::caller::WORKERS;

/// How long anything may take before the test fails: less than the kernel waits for the end of a lease.
const PATIENCE: Duration = Duration::from_secs(30);

/// A server of a host directory with a file `f`.
struct Host {
    base: Scratch,
    server: Server,
}

impl Host {
    fn new(delegations: DelegationPolicy) -> Host {
        let base = Scratch::new();
        base.dir("export");
        fs::write(base.path("export/f"), "before").unwrap();
        let options = HostOptions { state_dir: Some(base.path("state")), workers: WORKERS, ..HostOptions::default() };
        let files = Arc::new(HostFs::open(&base.path("export"), options).unwrap());
        let options = ExportOptions { squash: Squash::None, delegations, ..ExportOptions::default() };
        Host { base, server: server(vec![export_with(EXPORT, files, options)]) }
    }

    fn file(&self) -> PathBuf {
        self.base.path("export/f")
    }

    /// A read delegation, once no child that another test forks has this process's open files.
    fn delegated(&self, session: &Session<'_>) -> Stateid {
        let began = Instant::now();
        loop {
            match opened(session, SHARE_ACCESS_READ).1 {
                Delegation::None if began.elapsed() < PATIENCE => thread::sleep(Duration::from_millis(5)),
                delegation => return read_delegation(&delegation),
            }
        }
    }

    /// The recall that a local process causes.
    fn recall(&self, holder: &Session<'_>) -> Callback {
        let began = Instant::now();
        while began.elapsed() < PATIENCE {
            self.server.recall_leased(holder.caller.now);
            if let Some(callback) = next_callback(&holder.caller) {
                return callback;
            }
            thread::sleep(Duration::from_millis(1));
        }
        panic!("nothing was recalled");
    }
}

#[test]
fn local_writer_waits_for_the_return_and_the_client_reads_what_it_wrote() {
    let host = Host::new(DelegationPolicy::Auto);
    let holder = client(&host.server, 1);
    let stateid = host.delegated(&holder);
    let path = host.file();
    let writer = thread::spawn(move || fs::write(path, "after").unwrap());
    let callback = host.recall(&holder);
    assert_eq!(recalled(&callback), stateid);
    assert!(!writer.is_finished() && fs::read(host.file()).unwrap() == b"before");
    answer(&holder, &callback, RECALLED);
    give_back(&holder, stateid);
    writer.join().unwrap();
    let caller = &holder.caller;
    let file = caller.handle_of(&caller.mount_path(EXPORT), "f");
    assert_eq!(nfs3::success(caller.read(&file, 0, 100)).data, b"after");
}

#[test]
fn client_that_does_not_answer_loses_the_delegation_before_the_kernel_ends_the_lease() {
    let host = Host::new(DelegationPolicy::Auto);
    let holder = client(&host.server, 1);
    host.delegated(&holder);
    let path = host.file();
    let writer = thread::spawn(move || fs::write(path, "after").unwrap());
    host.recall(&holder);
    let break_time = fs::read_to_string("/proc/sys/fs/lease-break-time").unwrap().trim().parse::<u64>().unwrap();
    host.server.tick(holder.caller.later(break_time - 1).now);
    writer.join().unwrap();
    let refused = opened(&Session { caller: holder.caller.later(break_time), ..holder }, SHARE_ACCESS_READ).1;
    assert_eq!(refused, Delegation::None, "a file that was just recalled is not delegated");
}

#[test]
fn change_of_the_mode_by_a_local_process_recalls() {
    let host = Host::new(DelegationPolicy::Auto);
    let holder = client(&host.server, 1);
    let stateid = host.delegated(&holder);
    fs::set_permissions(host.file(), fs::Permissions::from_mode(0o600)).unwrap();
    assert_eq!(recalled(&host.recall(&holder)), stateid);
}

#[test]
fn two_clients_hold_delegations_and_both_are_asked() {
    let host = Host::new(DelegationPolicy::Auto);
    let (first, second) = (client(&host.server, 1), client(&host.server, 2));
    let held = [(&first, host.delegated(&first)), (&second, host.delegated(&second))];
    let path = host.file();
    let writer = thread::spawn(move || drop(OpenOptions::new().append(true).open(path).unwrap()));
    let recalls = [host.recall(&first), callback(&second.caller)];
    assert_eq!(recalls.each_ref().map(recalled), held.map(|(_, stateid)| stateid));
    give_back(&first, held[0].1);
    assert!(!writer.is_finished());
    give_back(&second, held[1].1);
    writer.join().unwrap();
}

#[test]
fn client_that_writes_gives_its_own_delegation_back_first() {
    let host = Host::new(DelegationPolicy::Auto);
    let holder = client(&host.server, 1);
    let stateid = host.delegated(&holder);
    assert_eq!(refused(&holder, SHARE_ACCESS_WRITE), Status::Delay);
    answer(&holder, &callback(&holder.caller), RECALLED);
    give_back(&holder, stateid);
    opened(&holder, SHARE_ACCESS_WRITE);
    let caller = &holder.caller;
    let file = caller.handle_of(&caller.mount_path(EXPORT), "f");
    nfs3::success(caller.write(&file, 0, StableHow::Unstable, b"own"));
    assert_eq!(fs::read(host.file()).unwrap(), b"ownore");
}

#[test]
fn file_that_the_server_has_just_written_is_delegated() {
    let host = Host::new(DelegationPolicy::Auto);
    let caller = Caller::root(&host.server).from("192.0.2.9:700");
    let file = caller.handle_of(&caller.mount_path(EXPORT), "f");
    nfs3::success(caller.write(&file, 0, StableHow::Unstable, b"server"));
    host.delegated(&client(&host.server, 1));
}

#[test]
fn file_that_a_local_process_writes_is_delegated_only_where_the_administrator_says_so() {
    for (policy, is_delegated) in
        [(DelegationPolicy::Auto, false), (DelegationPolicy::Always, true), (DelegationPolicy::Off, false)]
    {
        let host = Host::new(policy);
        let mut local = OpenOptions::new().append(true).open(host.file()).unwrap();
        let delegation = opened(&client(&host.server, 1), SHARE_ACCESS_READ).1;
        assert_eq!(matches!(delegation, Delegation::Read(_)), is_delegated, "{policy:?}");
        local.write_all(b"does not wait").unwrap();
    }
}

#[test]
fn file_of_a_host_is_not_delegated_for_writing() {
    let host = Host::new(DelegationPolicy::Auto);
    let holder = client(&host.server, 1);
    assert_eq!(opened(&holder, SHARE_ACCESS_BOTH).1, Delegation::None);
    let wish = SHARE_ACCESS_READ | proto::nfs4::WANT_WRITE_DELEG;
    let why = proto::nfs4::WhyNoDelegation::WriteNotSuppFileType;
    assert_eq!(opened(&client(&host.server, 2), wish).1, Delegation::NoneExt(why));
}
