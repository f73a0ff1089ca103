//! A mount of NFSv4.1 whose server lies, says "not now" for ever, or cuts its replies short. No time passes but that of
//! the runtime, which stands still while anybody has something to do.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use client::{Handle, Lie, Mount, Options, Reason, Status as Neutral};
use proto::nfs4::{ArgOp, CompoundArgs, ReadHead, ReadOk, Res, ResOp, SequenceOk, SlotId, StableHow, Status, WriteOk};
use tokio::time::{Instant, timeout};

use crate::fake4;

type Special = Option<ResOp<'static>>;

/// Far longer than any call that may fail takes.
const LONG: Duration = Duration::from_secs(24 * 3600);

fn file() -> Handle {
    Handle::new(b"file").unwrap()
}

async fn mount(special: impl Fn(&ArgOp<'_>) -> Special + Send + Sync + 'static, options: Options) -> Mount {
    let special = move |operation: &ArgOp<'_>, _: &[u8]| special(operation);
    fake4::mount_in_memory(special, |_, results| results, options).await.unwrap().0
}

async fn altered(alter: impl Fn(&CompoundArgs<'_>, Vec<u8>) -> Vec<u8> + Send + Sync + 'static) -> Mount {
    fake4::mount_in_memory(|_, _| None, alter, fake4::options()).await.unwrap().0
}

fn is_getattr_of_file(compound: &CompoundArgs<'_>) -> bool {
    compound
        .operations
        .iter()
        .any(|operation| matches!(operation, ArgOp::Putfh(args) if args.object.as_bytes() == b"file"))
}

fn lie(error: &client::Error) -> Lie {
    let Reason::Lie(lie) = error.reason() else { panic!("{error}") };
    *lie
}

fn read(data: &'static [u8], eof: bool) -> Special {
    Some(ResOp::Read(Res::Ok(ReadOk { head: ReadHead { eof }, data })))
}

#[tokio::test(start_paused = true)]
async fn data_that_cannot_be_right_is_refused() {
    let mount = mount(
        |operation| match operation {
            ArgOp::Read(args) if args.offset == 0 => read(b"12345", true),
            ArgOp::Read(_) => read(b"", false),
            ArgOp::Write(args) => {
                let count = if args.offset == 0 { 0 } else { args.data.len() as u32 + 1 };
                Some(ResOp::Write(Res::Ok(WriteOk { count, committed: StableHow::FileSync, verifier: [0; 8] })))
            }
            _ => None,
        },
        fake4::options(),
    )
    .await;
    let error = mount.read(&file(), 0, 4).await.unwrap_err();
    assert_eq!(lie(&error), Lie::TooMuchData { asked: 4, got: 5 });
    assert_eq!(lie(&mount.read(&file(), 1, 4).await.unwrap_err()), Lie::NoData);
    for (offset, said) in [(0, 0), (1, 5)] {
        let error = mount.write(&file(), offset, b"four".to_vec().into(), vfs::Stability::File).await.unwrap_err();
        assert_eq!(lie(&error), Lie::WrongWrite { said, given: 4 });
    }
}

#[tokio::test(start_paused = true)]
async fn reply_of_another_slot_or_sequence_is_refused() {
    for change in [|ok: &mut SequenceOk| ok.slot = SlotId(77), |ok: &mut SequenceOk| ok.sequence += 1] {
        let lying = Arc::new(AtomicBool::new(false));
        let lies = Arc::clone(&lying);
        let mount = mount(
            move |operation| match operation {
                ArgOp::Sequence(args) if lies.load(Ordering::Relaxed) => {
                    let (session, sequence, slot) = (args.session, args.sequence, args.slot);
                    let (highest_slot, target_highest_slot, status_flags) = (slot, slot, 0);
                    let mut ok =
                        SequenceOk { session, sequence, slot, highest_slot, target_highest_slot, status_flags };
                    change(&mut ok);
                    Some(ResOp::Sequence(Res::Ok(ok)))
                }
                _ => None,
            },
            fake4::options(),
        )
        .await;
        lying.store(true, Ordering::Relaxed);
        assert_eq!(lie(&mount.getattr(&file()).await.unwrap_err()), Lie::WrongSlot);
        lying.store(false, Ordering::Relaxed);
        mount.getattr(&file()).await.unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn number_of_slots_that_a_server_wants_may_be_anything() {
    for wanted in [0, 1, u32::MAX] {
        let special = move |operation: &ArgOp<'_>| match operation {
            ArgOp::Sequence(args) => Some(ResOp::Sequence(Res::Ok(SequenceOk {
                session: args.session,
                sequence: args.sequence,
                slot: args.slot,
                highest_slot: SlotId(wanted),
                target_highest_slot: SlotId(wanted),
                status_flags: 0,
            }))),
            _ => None,
        };
        let mount = mount(special, fake4::options()).await;
        let calls: Vec<_> = (0..50)
            .map(|_| {
                let mount = mount.clone();
                tokio::spawn(async move { mount.getattr(&file()).await })
            })
            .collect();
        for call in calls {
            call.await.unwrap().unwrap();
        }
    }
}

/// A mount whose server answers every SEQUENCE, or every GETATTR of the file, with `status` once it is mounted.
async fn refusing(status: Status, in_sequence: bool, is_hard: bool) -> Mount {
    let refuses = Arc::new(AtomicBool::new(false));
    let shared = Arc::clone(&refuses);
    let special = move |operation: &ArgOp<'_>, current: &[u8]| match operation {
        _ if !shared.load(Ordering::Relaxed) => None,
        ArgOp::Sequence(_) if in_sequence => Some(ResOp::Sequence(Res::Fail(status))),
        ArgOp::Getattr(_) if !in_sequence && current == b"file" => Some(ResOp::Getattr(Res::Fail(status))),
        _ => None,
    };
    let options = Options { is_hard, ..fake4::options() };
    let (mount, _) = fake4::mount_in_memory(special, |_, results| results, options).await.unwrap();
    refuses.store(true, Ordering::Relaxed);
    mount
}

#[tokio::test(start_paused = true)]
async fn soft_call_ends_however_long_the_server_refuses() {
    let endless = [Status::BadSession, Status::StaleClientid, Status::SeqMisordered, Status::BadSlot, Status::Delay];
    for status in endless {
        let mount = refusing(status, true, false).await;
        let error = timeout(LONG, mount.getattr(&file())).await.expect("the call ends").unwrap_err();
        assert!(error.status().is_some(), "{error}");
    }
    let (mount, began) = (refusing(Status::Delay, false, false).await, Instant::now());
    assert_eq!(mount.getattr(&file()).await.unwrap_err().status(), Some(Neutral::TryLater));
    assert_eq!(Some(began.elapsed()), mount.options().patience(), "as long as for a silent server");
}

#[tokio::test(start_paused = true)]
async fn soft_calls_live_through_a_grace_period_and_give_up_when_it_does_not_end() {
    let (mount, fake_lease) = (refusing(Status::Grace, false, false).await, Duration::from_secs(90));
    let began = Instant::now();
    let error = mount.getattr(&file()).await.unwrap_err();
    assert_eq!((error.status(), began.elapsed()), (Some(Neutral::Grace), 2 * fake_lease), "{error}");

    let began = Instant::now();
    let special = move |operation: &ArgOp<'_>| match operation {
        // Longer than the lease, as with servers whose lease and grace period are set apart.
        ArgOp::Open(_) if began.elapsed() < fake_lease * 3 / 2 => Some(ResOp::Open(Res::Fail(Status::Grace))),
        _ => None,
    };
    let mount = self::mount(special, fake4::options()).await;
    mount.open(&mount.root().handle, b"file", &client::OpenOptions::read()).await.unwrap();
    assert!(began.elapsed() >= fake_lease * 3 / 2);
}

#[tokio::test(start_paused = true)]
async fn hard_call_goes_on_while_the_server_says_not_now_and_can_be_dropped() {
    for status in [Status::Delay, Status::Grace] {
        let mount = refusing(status, false, true).await;
        let while_longer = Duration::from_secs(600);
        assert!(timeout(while_longer, mount.getattr(&file())).await.is_err(), "a hard call goes on");
        mount.null().await.unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn reply_that_is_cut_anywhere_is_refused() {
    for cut in (0..400).step_by(4) {
        let mount = altered(move |compound, mut results| {
            if is_getattr_of_file(compound) {
                results.truncate(cut.min(results.len() - 4));
            }
            results
        })
        .await;
        let error = timeout(LONG, mount.getattr(&file())).await.expect("the call ends").unwrap_err();
        assert!(matches!(error.reason(), Reason::BadReply(_) | Reason::NotAReply(_)), "cut at {cut}: {error}");
    }
}

#[tokio::test(start_paused = true)]
async fn compound_with_fewer_results_or_others_than_were_asked_for_is_refused() {
    // The number of results stands behind the status and the empty tag, and each begins with the operation's number.
    for (place, value) in [(8, 1_u32), (8, 0), (12, 22), (56, 9)] {
        let mount = altered(move |compound, mut results| {
            if is_getattr_of_file(compound) {
                results[place..place + 4].copy_from_slice(&value.to_be_bytes());
            }
            results
        })
        .await;
        let error = timeout(LONG, mount.getattr(&file())).await.expect("the call ends").unwrap_err();
        assert!(matches!(error.reason(), Reason::BadReply(_) | Reason::Lie(Lie::FewResults)), "{place}: {error}");
    }
}

#[tokio::test(start_paused = true)]
async fn commit_whose_verifier_never_stays_ends() {
    let turn = std::sync::atomic::AtomicU64::new(0);
    let next = move || turn.fetch_add(1, Ordering::Relaxed).to_be_bytes();
    let special = move |operation: &ArgOp<'_>| match operation {
        ArgOp::Write(args) => {
            let (count, committed) = (args.data.len() as u32, args.stable);
            Some(ResOp::Write(Res::Ok(WriteOk { count, committed, verifier: next() })))
        }
        ArgOp::Commit(_) => Some(ResOp::Commit(Res::Ok(next()))),
        _ => None,
    };
    let mount = mount(special, fake4::options()).await;
    let options = client::OpenOptions::both();
    let opened = mount.open(&mount.root().handle, b"file", &options).await.unwrap();
    timeout(LONG, async {
        opened.write_at(0, &[7; 200_000]).await.unwrap();
        // What is always lost is written stably in the end.
        opened.sync().await.unwrap();
    })
    .await
    .expect("the file is on stable storage at some time");
}
