//! Files with state are held, so that they stay reachable after their last name is removed.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use state::*;
use vfs::{FileHold, FileLease};

use testing::world::*;

/// A file that is removed before it can be held.
const GONE: u64 = 999;

/// The number of holds of each file.
#[derive(Debug, Clone, Default)]
struct Host(Arc<Mutex<HashMap<FileKey, usize>>>);

struct Hold(Host, FileKey);

impl Drop for Hold {
    fn drop(&mut self) {
        *self.0.0.lock().unwrap().get_mut(&self.1).unwrap() -= 1;
    }
}

impl HostLeases for Host {
    fn lease(&mut self, _: &FileKey) -> Option<Box<dyn FileLease>> {
        None
    }

    fn hold(&mut self, file: &FileKey, _: usize) -> Result<Option<FileHold>, Gone> {
        if *file == key(GONE) {
            return Err(Gone);
        }
        *self.0.lock().unwrap().entry(*file).or_default() += 1;
        Ok(Some(Box::new(Hold(self.clone(), *file))))
    }
}

impl Host {
    fn holds(&self, file: u64) -> usize {
        self.0.lock().unwrap().get(&key(file)).copied().unwrap_or_default()
    }
}

fn world_with(limits: Limits) -> (World, Host) {
    let (world, host) = (World::with(limits), Host::default());
    world.state.use_leases(Box::new(host.clone()));
    (world, host)
}

#[test]
fn file_is_held_once_while_anybody_has_it_open() {
    let (world, host) = world_with(Limits::default());
    let (a, b) = (world.client("a").id, world.client("b").id);
    let (first, second) = (world.open_rw(a, "o", 1), world.open_rw(b, "o", 1));
    assert_eq!(host.holds(1), 1);
    world.state.close(world.now, StateidScope::V41(a), &first, &key(1)).unwrap();
    assert_eq!(host.holds(1), 1);
    world.state.close(world.now, StateidScope::V41(b), &second, &key(1)).unwrap();
    assert_eq!(host.holds(1), 0);
}

#[test]
fn file_is_held_while_it_is_delegated_though_nobody_has_it_open() {
    let (world, host) = world_with(Limits::default());
    let a = world.client("a").id;
    let args = OpenArgs { want: DelegationWant::Any, ..open_args(a, "o", 1, (ShareAccess::READ, ShareDeny::NONE)) };
    let opened = world.state.open(world.now, &args).unwrap();
    let DelegationAnswer::Granted { stateid, .. } = opened.delegation else { panic!("{opened:?}") };
    world.state.close(world.now, StateidScope::V41(a), &opened.stateid, &key(1)).unwrap();
    assert_eq!(host.holds(1), 1);
    world.state.delegreturn(world.now, StateidScope::V41(a), &stateid, &key(1)).unwrap();
    assert_eq!(host.holds(1), 0);
}

#[test]
fn file_is_held_while_a_host_of_the_lock_protocol_has_a_lock_or_a_share() {
    let (world, host) = world_with(Limits::default());
    let range = ByteRange::WHOLE;
    let lock = NlmLock { host: b"h", origin: origin(1), owner: b"p", file: key(1), range, exclusive: true };
    world.state.nlm_lock(world.now, &lock, NlmMode::Now).unwrap();
    assert_eq!(host.holds(1), 1);
    world.state.nlm_unlock(world.now, &lock).unwrap();
    assert_eq!(host.holds(1), 0);
    let (access, deny) = (Some(ShareAccess::READ), ShareDeny::NONE);
    let share = NlmShareArgs { host: b"h", origin: origin(1), owner: b"p", file: key(1), access, deny, reclaim: false };
    world.state.nlm_share(world.now, &share).unwrap();
    assert_eq!(host.holds(1), 1);
    world.state.nlm_free_hosts(world.now, |name| name == b"h");
    assert_eq!(host.holds(1), 0);
}

#[test]
fn opens_beyond_the_limit_of_holds_go_without() {
    let (world, host) = world_with(Limits { holds: 1, ..Limits::default() });
    let a = world.client("a").id;
    let first = world.open_rw(a, "o", 1);
    world.open_rw(a, "o", 2);
    assert_eq!((host.holds(1), host.holds(2)), (1, 0));
    world.state.close(world.now, StateidScope::V41(a), &first, &key(1)).unwrap();
    world.open_rw(a, "o", 3);
    assert_eq!((host.holds(1), host.holds(3)), (0, 1));
}

#[test]
fn file_that_is_removed_during_its_open_is_not_opened() {
    let (world, host) = world_with(Limits::default());
    let a = world.client("a").id;
    let args = open_args(a, "o", GONE, (ShareAccess::READ, ShareDeny::NONE));
    assert_eq!(world.state.open(world.now, &args), Err(StateError::Stale));
    assert!(!world.state.has_open(a, &key(GONE)));
    assert_eq!(host.holds(GONE), 0);
}
