use state::{
    ChannelAttributes, Claim, ClientId, CreateSessionArgs, DelegationWant, ExchangeIdArgs, FileKey, Limits,
    NoHostLocks, OpenArgs, Opened, Origin, Principal, ShareAccess, ShareDeny, State, StateError, StateidScope,
};
use std::fs;

use super::*;
use crate::state_dir::{self, StateDirError};

const LEASE: Duration = Duration::from_secs(90);

/// A state directory that is removed at the end of its test.
struct Scratch(PathBuf);

impl Scratch {
    fn new(test: &str) -> Scratch {
        let dir = std::env::temp_dir().join(format!("wharf-records-{test}-{}", std::process::id()));
        OwnDir::create(&dir).unwrap();
        Scratch(dir)
    }

    fn dir(&self) -> Arc<Locked<OwnDir>> {
        Arc::new(Locked::exclusive(OwnDir::open(&self.0).unwrap()).unwrap())
    }

    fn open(&self) -> StoredRecords {
        StoredRecords::open(self.dir(), 1000, LEASE).unwrap()
    }

    fn file(&self) -> PathBuf {
        self.0.join(FILE)
    }

    fn bytes(&self) -> Vec<u8> {
        fs::read(self.file()).unwrap()
    }

    /// What a start finds in a file with these bytes.
    fn load(&self, bytes: &[u8]) -> Result<Vec<ClientRecord>, ClientRecordsError> {
        fs::write(self.file(), bytes).unwrap();
        StoredRecords::open(self.dir(), 1000, LEASE).map(|mut records| records.load().unwrap())
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        fs::remove_dir_all(&self.0).unwrap();
    }
}

fn client(name: &[u8]) -> ClientRecord {
    ClientRecord { kind: RecordKind::V41, name: name.into(), revoked: false }
}

#[test]
fn next_start_finds_what_was_acknowledged() {
    let scratch = Scratch::new("found");
    let mut records = scratch.open();
    assert_eq!(records.load().unwrap(), []);
    let v40 = ClientRecord { kind: RecordKind::V40, ..client(b"a") };
    for record in [&client(b"a"), &client(b"b"), &v40] {
        records.add(record).unwrap();
    }
    records.mark(RecordKind::V41, b"a", true).unwrap();
    records.mark(RecordKind::V41, b"nobody", true).unwrap();
    records.remove(&[(RecordKind::V41, b"b"), (RecordKind::Nlm, b"a")]).unwrap();
    drop(records);
    let expected = [v40, ClientRecord { revoked: true, ..client(b"a") }];
    assert_eq!(scratch.open().load().unwrap(), expected);
    assert_eq!(scratch.open().load().unwrap(), expected);
}

#[test]
fn number_of_a_start_grows_though_the_clock_stands_or_goes_back() {
    let scratch = Scratch::new("boot");
    let boot = |seconds| StoredRecords::open(scratch.dir(), seconds, LEASE).unwrap().start().boot;
    assert_eq!([1000, 1000, 3, 0, 2000].map(boot), [1000, 1001, 1002, 1003, 2000]);
}

#[test]
fn lease_of_the_start_before_is_known() {
    let scratch = Scratch::new("lease");
    let earlier = |seconds| {
        StoredRecords::open(scratch.dir(), 1, Duration::from_secs(seconds)).unwrap().start().earlier_lease.as_secs()
    };
    assert_eq!([300, 20, 20].map(earlier), [0, 300, 20]);
}

#[test]
fn every_truncation_loads_what_was_there_before_some_change() {
    let scratch = Scratch::new("truncation");
    let mut records = scratch.open();
    let mut states = vec![records.load().unwrap()];
    let begun = scratch.bytes().len();
    for number in 0..12_u8 {
        match number % 4 {
            0 | 1 => records.add(&client(&[number; 40])).unwrap(),
            2 => records.mark(RecordKind::V41, &[number - 1; 40], true).unwrap(),
            _ => records.remove(&[(RecordKind::V41, &[number - 3; 40])]).unwrap(),
        }
        states.push(records.load().unwrap());
    }
    drop(records);
    let whole = scratch.bytes();
    let mut at = 0;
    for length in begun..=whole.len() {
        let found = scratch.load(&whole[..length]).unwrap();
        let now = (at..states.len()).find(|now| states[*now] == found);
        at = now.unwrap_or_else(|| panic!("{length} bytes hold {found:?}"));
    }
    assert_eq!(at, states.len() - 1);
}

#[test]
fn crash_between_draft_and_rename_leaves_the_earlier_records() {
    let scratch = Scratch::new("draft");
    scratch.open().add(&client(b"a")).unwrap();
    fs::write(scratch.0.join("client-records.new"), b"half a dra").unwrap();
    assert_eq!(scratch.open().load().unwrap(), [client(b"a")]);
}

#[test]
fn damage_that_no_crash_leaves_is_refused_with_the_name_of_the_file() {
    let scratch = Scratch::new("damage");
    let mut records = scratch.open();
    (0..3_u8).for_each(|number| records.add(&client(&[number])).unwrap());
    drop(records);
    let mut bytes = scratch.bytes();
    bytes[MAGIC.len() + 32 + 16] ^= 1;
    let said = scratch.load(&bytes).unwrap_err().to_string();
    assert!(said.contains("client-records is damaged at byte 48: clients cannot reclaim"), "{said}");
    assert!(matches!(scratch.load(b"[server]\n"), Err(ClientRecordsError::Damaged(_))));
}

#[test]
fn directory_serves_one_server_at_a_time() {
    let scratch = Scratch::new("twice");
    let first = scratch.open();
    assert!(matches!(state_dir::open_dir(&scratch.0), Err(StateDirError::InUse(_))));
    drop(first);
    scratch.open();
}

#[test]
fn change_that_failed_is_made_by_the_next_one() {
    let scratch = Scratch::new("failed");
    let mut records = scratch.open();
    // Nothing can be written to a file that is open for reading, and no draft where a directory is.
    records.log.as_mut().unwrap().file = File::open(scratch.file()).unwrap();
    let draft = scratch.0.join("client-records.new");
    fs::create_dir(&draft).unwrap();
    records.add(&client(b"a")).unwrap_err();
    records.add(&client(b"b")).unwrap_err();
    fs::remove_dir(&draft).unwrap();
    records.add(&client(b"c")).unwrap_err();
    // What is urgent is tried at once, and brings the rest along.
    records.remove(&[(RecordKind::V41, b"b")]).unwrap();
    drop(records);
    assert_eq!(scratch.open().load().unwrap(), [client(b"a"), client(b"c")]);
}

#[test]
fn records_that_are_given_up_are_gone_and_come_back_with_the_next_change() {
    let scratch = Scratch::new("given-up");
    let mut records = scratch.open();
    let boot = records.start().boot;
    records.add(&client(b"a")).unwrap();
    records.add(&client(b"b")).unwrap();
    records.give_up().unwrap();
    let (lost, start) = (scratch.bytes(), records.start());
    records.remove(&[(RecordKind::V41, b"a")]).unwrap();
    let (kept, draft) = (scratch.bytes(), scratch.0.join("client-records.new"));
    drop(records);
    assert_eq!(scratch.load(&lost).unwrap(), []);
    fs::write(scratch.file(), &lost).unwrap();
    let after = scratch.open();
    assert_eq!((after.start().boot, after.start().earlier_lease), (boot + 1, start.lease), "the start is still known");
    drop(after);
    assert_eq!(scratch.load(&kept).unwrap(), [client(b"b")]);
    assert!(!draft.exists());
}

#[test]
fn file_that_is_mostly_stale_is_written_anew() {
    let scratch = Scratch::new("stale");
    let mut records = scratch.open();
    let name = [7; 1000];
    records.add(&client(&name)).unwrap();
    for _ in 0..MIN_REWRITTEN_BYTES / 1000 + 1 {
        records.log.as_mut().unwrap().length_bytes += 1000;
    }
    records.mark(RecordKind::V41, &name, true).unwrap();
    assert!(scratch.bytes().len() < 1200);
    drop(records);
    assert_eq!(scratch.open().load().unwrap(), [ClientRecord { revoked: true, ..client(&name) }]);
}

#[test]
fn more_names_than_a_line_holds_are_forgotten_in_one_step() {
    let scratch = Scratch::new("many");
    let mut records = scratch.open();
    let names: Vec<Vec<u8>> = (0..80_u8).map(|number| vec![number; 1000]).collect();
    records.clients.extend(names.iter().map(|name| ((RecordKind::V41, name.as_slice().into()), false)));
    let keys: Vec<(RecordKind, &[u8])> = names[1..].iter().map(|name| (RecordKind::V41, name.as_slice())).collect();
    records.remove(&keys).unwrap();
    drop(records);
    assert_eq!(scratch.open().load().unwrap(), [client(&names[0])]);
}

/// The same numbers on every run (Knuth's MMIX).
fn next(random: &mut u64) -> u64 {
    *random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    *random >> 33
}

#[test]
fn store_agrees_with_a_model_over_random_changes_and_starts() {
    for seed in 0..20 {
        let scratch = Scratch::new(&format!("model-{seed}"));
        let (mut random, mut model, mut last_boot) = (seed, BTreeMap::<RecordKey, bool>::new(), 0);
        let mut records = scratch.open();
        for _ in 0..60 {
            let kind = [RecordKind::V40, RecordKind::V41, RecordKind::Nlm][next(&mut random) as usize % 3];
            let name = [next(&mut random) as u8 % 5; 3];
            let revoked = next(&mut random).is_multiple_of(2);
            match next(&mut random) % 4 {
                0 | 1 => {
                    records.add(&ClientRecord { kind, name: name.as_slice().into(), revoked }).unwrap();
                    model.insert((kind, name.as_slice().into()), revoked);
                }
                2 => {
                    records.remove(&[(kind, &name), (RecordKind::V41, &name)]).unwrap();
                    model.retain(|(k, n), _| **n != name || *k != kind && *k != RecordKind::V41);
                }
                _ => {
                    records.mark(kind, &name, revoked).unwrap();
                    model.entry((kind, name.as_slice().into())).and_modify(|known| *known = revoked);
                }
            }
            if next(&mut random).is_multiple_of(8) {
                drop(records);
                records = scratch.open();
                assert!(records.start().boot > last_boot, "seed {seed}");
                last_boot = records.start().boot;
                assert_eq!(records.clients, model, "seed {seed}");
            }
        }
    }
}

/// A boot of a server whose clients are recorded here: grace lasts as long as the lease.
fn boot(scratch: &Scratch) -> State {
    let records = scratch.open();
    let (number, limits) = (records.start().boot, Limits::default());
    State::new(number, limits, Box::new(records), Box::new(NoHostLocks), Duration::ZERO).unwrap()
}

/// A client of this name with a session.
fn join(state: &State, now: Duration, name: &[u8]) -> ClientId {
    let origin = Origin::of([192, 0, 2, 1].into());
    let exchange =
        ExchangeIdArgs { owner: name, verifier: [1; 8], update: false, principal: Principal::default(), origin };
    let new = state.exchange_id(now, &exchange).unwrap();
    let channel = ChannelAttributes {
        max_request_bytes: 4096,
        max_response_bytes: 4096,
        max_response_cached_bytes: 4096,
        max_operations: 16,
        max_requests: 1,
    };
    let create = CreateSessionArgs {
        client: new.client,
        sequence: new.sequence,
        fore: channel,
        back: channel,
        back_channel: false,
        program: 0,
        minor_version: 1,
        security: Vec::new(),
        connection: 1,
        principal: Principal::default(),
    };
    state.create_session(now, &create).unwrap();
    new.client
}

fn open(state: &State, now: Duration, client: ClientId, claim: Claim) -> Result<Opened, StateError> {
    let args = OpenArgs {
        client,
        owner: b"owner",
        file: FileKey { export: 1, node: vfs::Handle::from_u64(1) },
        access: ShareAccess::BOTH,
        deny: ShareDeny::BOTH,
        claim,
        want: DelegationWant::None,
        leased: false,
        change: 0,
        worker: 0,
        handle: &Box::default,
    };
    state.open(now, &args)
}

#[test]
fn client_that_lost_state_while_it_was_cut_off_may_not_reclaim_after_a_restart() {
    // RFC 8881 §8.4.3, the first edge condition: its lock was given to another, which gave it back before the restart.
    let (scratch, now) = (Scratch::new("first-edge"), Duration::ZERO);
    let state = boot(&scratch);
    let cut_off = join(&state, now, b"cut off");
    state.reclaim_complete(now, cut_off, false).unwrap();
    open(&state, now, cut_off, Claim::New).unwrap();
    let later = now + 2 * LEASE;
    let other = join(&state, later, b"other");
    state.reclaim_complete(later, other, false).unwrap();
    let opened = open(&state, later, other, Claim::New).unwrap();
    let file = FileKey { export: 1, node: vfs::Handle::from_u64(1) };
    state.close(later, StateidScope::V41(other), &opened.stateid, &file).unwrap();
    drop(state);

    let state = boot(&scratch);
    let back = join(&state, now, b"cut off");
    assert_eq!(open(&state, now, back, Claim::Previous(None)), Err(StateError::ReclaimBad));
    let other = join(&state, now, b"other");
    assert!(open(&state, now, other, Claim::Previous(None)).is_ok());
}

#[test]
fn client_that_was_cut_off_for_a_whole_boot_may_not_reclaim() {
    // RFC 8881 §8.4.3, the second edge condition: it did not reclaim in time after one restart, another had its lock,
    // and the server restarts again.
    let (scratch, now) = (Scratch::new("second-edge"), Duration::ZERO);
    let state = boot(&scratch);
    let cut_off = join(&state, now, b"cut off");
    state.reclaim_complete(now, cut_off, false).unwrap();
    open(&state, now, cut_off, Claim::New).unwrap();
    drop(state);

    let state = boot(&scratch);
    let after_grace = now + 2 * LEASE;
    let other = join(&state, after_grace, b"other");
    state.reclaim_complete(after_grace, other, false).unwrap();
    open(&state, after_grace, other, Claim::New).unwrap();
    drop(state);

    let state = boot(&scratch);
    let back = join(&state, now, b"cut off");
    assert_eq!(open(&state, now, back, Claim::Previous(None)), Err(StateError::ReclaimBad));
    let other = join(&state, now, b"other");
    assert!(open(&state, now, other, Claim::Previous(None)).is_ok());
}
