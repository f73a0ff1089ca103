//! What is told, of which operation, and what must come of it.

use std::sync::LazyLock;

use client::{Lie, Reason, Status as Neutral, Version};
use proto::nfs4::OpNumber::{
    self, Copy, CreateSession, ExchangeId, Getattr, Listxattrs, Lock, Lockt, Open, Read, ReadPlus, Readdir, Readlink,
    Seek, Setclientid, Write,
};
use proto::nfs4::{ArgOp, ChannelAttrs, CreateSessionOk, Delegation, ResOp, Stateid, Status};

use crate::hostile_results::words::{done, of, opaque, refused, words};
use crate::hostile_results::{Call, MAX_ENTRIES, fake4, is_bad};

const MANY: u32 = u32::MAX;

/// Makes the result for what was asked.
type Answering = dyn Fn(&ArgOp<'_>) -> Vec<u8> + Send + Sync;

/// A lie.
pub struct Told {
    pub operation: OpNumber,
    /// The oldest version that has it.
    pub since: Version,
    pub what: &'static str,
    /// The call that is lied to; none for a mount.
    pub call: Option<Call>,
    /// The whole result, from the operation's number on.
    pub result: Box<Answering>,
    /// What may come of it; there is no reason where the call succeeds.
    pub expected: fn(Option<&Reason>) -> bool,
}

type Expected = fn(Option<&Reason>) -> bool;

fn told(
    (operation, since, call): (OpNumber, Version, Option<Call>),
    what: &'static str,
    parts: &[&[u8]],
    expected: Expected,
) -> Told {
    let bytes = done(operation, parts);
    Told { operation, since, what, call, result: Box::new(move |_| bytes.clone()), expected }
}

fn answering(
    (operation, since, call): (OpNumber, Version, Option<Call>),
    what: &'static str,
    result: impl Fn(&ArgOp<'_>) -> Vec<u8> + Send + Sync + 'static,
    expected: Expected,
) -> Told {
    Told { operation, since, what, call, result: Box::new(result), expected }
}

fn is_fine(reason: Option<&Reason>) -> bool {
    reason.is_none()
}

/// A function that says whether the reason is such a lie.
macro_rules! lie {
    ($lie:pat) => {
        |reason| matches!(reason, Some(Reason::Lie($lie)))
    };
}

pub fn told_when_used() -> &'static [Told] {
    static ALL: LazyLock<Vec<Told>> = LazyLock::new(|| {
        [opens(), locks(), links_and_names(), listings(), attributes(), data(), holes()].into_iter().flatten().collect()
    });
    &ALL
}

pub fn told_when_mounting() -> &'static [Told] {
    static ALL: LazyLock<Vec<Told>> = LazyLock::new(|| {
        let lease = |seconds: u32| of(&fake4::fattr(&[proto::nfs4::AttributeValue::LeaseTime(seconds)]));
        let id = (ExchangeId, Version::V4_1, None);
        let session = (CreateSession, Version::V4_1, None);
        let known = words(&[0, 9, 1, 0]);
        vec![
            told(id, "a protection that nobody asked for", &[&known, &words(&[9])], is_bad),
            told(id, "an owner without end", &[&known, &words(&[0, 0, 0, MANY])], is_bad),
            told(id, "an owner that is too long", &[&known, &words(&[0, 0, 0]), &opaque(&[7; 1028])], is_bad),
            told(id, "two implementations", &[&known, &words(&[0, 0, 0, 0, 0, 2])], is_bad),
            told(session, "no slots", &[&made(|fore| fore.max_requests = 0)], lie!(Lie::UselessSession(_))),
            told(session, "no room for requests", &[&made(|fore| fore.max_request_size = 0)], is_too_small),
            told(session, "no room for replies", &[&made(|fore| fore.max_response_size = 9)], is_too_small),
            told(session, "room for one operation", &[&made(|fore| fore.max_operations = 1)], is_too_small),
            told(session, "room for everything", &[&made(|fore| *fore = all(MANY))], is_fine),
            told((Setclientid, Version::V4_0, None), "nothing", &[], is_bad),
            answering(
                (Setclientid, Version::V4_0, None),
                "another client without end",
                |_| refused(Setclientid, Status::ClidInUse, &[&words(&[MANY])]),
                is_bad,
            ),
            lease_told("no lease", lease(0), lie!(Lie::Lease(0))),
            lease_told("a lease of a century", lease(MANY), is_fine),
        ]
    });
    &ALL
}

fn is_too_small(reason: Option<&Reason>) -> bool {
    matches!(reason, Some(Reason::SessionTooSmall { .. }))
}

/// What is told of the lease; everything else as ever.
fn lease_told(what: &'static str, value: Vec<u8>, expected: Expected) -> Told {
    let result = move |operation: &ArgOp<'_>| match fake4::asks_only(operation, proto::nfs4::Attribute::LeaseTime) {
        true => done(Getattr, &[&value]),
        false => of(&fake4::root_attributes(operation)),
    };
    answering((Getattr, Version::V4_0, None), what, result, expected)
}

fn all(value: u32) -> ChannelAttrs {
    ChannelAttrs {
        header_pad_size: value,
        max_request_size: value,
        max_response_size: value,
        max_response_size_cached: value,
        max_operations: value,
        max_requests: value,
        rdma_ird: None,
    }
}

fn made(change: impl Fn(&mut ChannelAttrs)) -> Vec<u8> {
    let mut fore = all(1 << 20);
    change(&mut fore);
    of(&CreateSessionOk { session: fake4::SESSION, sequence: 1, flags: 0, fore, back: all(4096) })
}

fn opens() -> Vec<Told> {
    let call = (Open, Version::V4_0, Some(Call::Open));
    // What goes before the delegation, whose kind is the last word.
    let whole = of(&ResOp::Open(proto::nfs4::Res::Ok(fake4::opened(Delegation::None))));
    let open = whole[8..whole.len() - 4].to_vec();
    let stateid = of(&Stateid { seqid: 1, other: *b"a delegation" });
    let ace = words(&[0, 0, 1]);
    let with = |what, rest: &[&[u8]], expected| told(call, what, &[&open, &rest.concat()], expected);
    vec![
        with("a kind of delegation that there is not", &[&words(&[77])], is_bad),
        with("a delegation of attributes that was not asked for", &[&words(&[4]), &stateid, &words(&[0])], is_bad),
        with("a name without end", &[&words(&[1]), &stateid, &words(&[0]), &ace, &words(&[MANY])], is_bad),
        with("a name that is too long", &[&words(&[1]), &stateid, &words(&[0]), &ace, &opaque(&[7; 100_000])], is_bad),
        with("room without end", &[&words(&[2]), &stateid, &words(&[0, 1, MANY, MANY]), &ace, &opaque(b"x")], is_fine),
        with(
            "blocks without end",
            &[&words(&[2]), &stateid, &words(&[0, 2, MANY, MANY]), &ace, &opaque(b"x")],
            is_fine,
        ),
        with("a kind of room that there is not", &[&words(&[2]), &stateid, &words(&[0, 9, 0, 0])], is_bad),
        with("a reason that there is not", &[&words(&[3, 99])], is_bad),
        told(call, "a set of attributes without end", &[&open[..open.len() - 4], &words(&[MANY])], is_bad),
        told(call, "the beginning of a stateid", &[&open[..8]], is_bad),
    ]
}

fn locks() -> Vec<Told> {
    let mut all = Vec::new();
    for (operation, call) in [(Lock, Call::Lock), (Lockt, Call::TestLock)] {
        let of_another = words(&[0, 7, 0, 9, 2, 0, 1]);
        let with = |what, parts: &[&[u8]], expected: Expected| {
            let bytes = refused(operation, Status::Denied, parts);
            answering((operation, Version::V4_0, Some(call)), what, move |_| bytes.clone(), expected)
        };
        let is_locked: Expected = |reason| matches!(reason, Some(Reason::Locked { .. }));
        all.extend([
            with("an owner without end", &[&of_another, &words(&[MANY])], is_bad),
            with("an owner that is too long", &[&of_another, &opaque(&[7; 1028])], is_bad),
            with("an owner that is not there", &[&of_another, &words(&[8])], is_bad),
            with("a kind of lock that there is not", &[&words(&[0, 7, 0, 9, 77, 0, 1, 0])], is_bad),
            with("a lock behind the end of everything", &[&words(&[MANY, MANY, MANY, MANY, 2, 0, 1, 0])], is_locked),
            with("a lock of no bytes", &[&words(&[0, 0, 0, 0, 2, 0, 1, 0])], is_locked),
        ]);
    }
    all
}

fn links_and_names() -> Vec<Told> {
    let link = (Readlink, Version::V4_0, Some(Call::Readlink));
    let xattrs = (Listxattrs, Version::V4_2, Some(Call::Listxattrs));
    let name = opaque(b"name");
    let cookie = |operation: &ArgOp<'_>| match operation {
        ArgOp::Listxattrs(args) => args.cookie as u32,
        _ => panic!("{operation:?}"),
    };
    // Many names at a time, so that the end comes soon.
    let page =
        |cookie: u32, name: &[u8]| done(Listxattrs, &[&words(&[0, cookie, 100]), &name.repeat(100), &words(&[0])]);
    let (same, again, long) = (name.clone(), name.clone(), opaque(&[b'n'; 4000]));
    vec![
        told(link, "a target without end", &[&words(&[MANY])], is_bad),
        told(link, "a target that is too long", &[&opaque(&[b'a'; 9000])], is_bad),
        told(link, "a target with a NUL", &[&opaque(b"a\0b")], lie!(Lie::BadTarget)),
        told(link, "a target that is no text", &[&opaque(&[0xff, 0xfe])], is_fine),
        told(xattrs, "names without end", &[&words(&[0, 1, MANY])], is_bad),
        told(xattrs, "a cookie that stays", &[&words(&[0, 0, 1]), &name, &words(&[0])], lie!(Lie::CookieLoop)),
        told(xattrs, "no names before the end", &[&words(&[0, 7, 0, 0])], lie!(Lie::CookieLoop)),
        answering(xattrs, "pages without end", move |at| page(cookie(at) + 1, &same), lie!(Lie::TooManyEntries(_))),
        answering(
            xattrs,
            "pages in a circle",
            move |at| page(1 + cookie(at) % 2, &again),
            lie!(Lie::TooManyEntries(_)),
        ),
        answering(xattrs, "long names without end", move |at| page(cookie(at) + 1, &long), lie!(Lie::TooLongList(_))),
    ]
}

/// A page of a listing with one entry, of these attributes.
fn page(cookie: u32, name: &[u8], attributes: &[u8]) -> Vec<u8> {
    done(Readdir, &[&words(&[0, 0, 1, 0, cookie]), &opaque(name), attributes, &words(&[0, 0])])
}

fn listings() -> Vec<Told> {
    let mut all = Vec::new();
    for call in [Call::Names, Call::Entries] {
        let at = (Readdir, Version::V4_0, Some(call));
        let cookie = |operation: &ArgOp<'_>| match operation {
            ArgOp::Readdir(args) => args.cookie as u32,
            _ => panic!("{operation:?}"),
        };
        let fine = of(&fake4::fattr(&[proto::nfs4::AttributeValue::FileId(7)]));
        let (same, circle) = (fine.clone(), fine.clone());
        let fixed = |name: &[u8], attributes: &[u8]| {
            let page = page(3, name, attributes);
            move |_: &ArgOp<'_>| page.clone()
        };
        let kind = opaque(&words(&[99]));
        all.extend([
            answering(
                at,
                "pages without end",
                move |at| page(cookie(at) + 1, b"same", &same),
                lie!(Lie::TooManyEntries(MAX_ENTRIES)),
            ),
            answering(
                at,
                "pages in a circle",
                move |at| page(1 + cookie(at) % 3, b"n", &circle),
                lie!(Lie::CookieLoop),
            ),
            answering(at, "a page that stays", fixed(b"name", &fine), lie!(Lie::CookieLoop)),
            answering(at, "a name of no bytes", fixed(b"", &fine), lie!(Lie::BadName(_))),
            answering(at, "a name that leads away", fixed(b"../x", &fine), lie!(Lie::BadName(_))),
            answering(at, "a name with a NUL", fixed(b"a\0b", &fine), lie!(Lie::BadName(_))),
            answering(at, "a name that is too long", fixed(&[b'n'; 256], &fine), lie!(Lie::BadName(_))),
            answering(at, "a kind of file that there is not", fixed(b"name", &[words(&[1, 2]), kind].concat()), is_bad),
            answering(
                at,
                "fewer bytes than the mask tells",
                fixed(b"name", &[words(&[1, 6]), opaque(&words(&[1]))].concat()),
                is_bad,
            ),
            answering(at, "attributes without end", fixed(b"name", &words(&[1, 2, MANY])), is_bad),
            answering(at, "a mask without end", fixed(b"name", &words(&[MANY])), is_bad),
        ]);
    }
    all
}

fn attributes() -> Vec<Told> {
    let at = (Getattr, Version::V4_0, Some(Call::Getattr));
    let no_attribute: Expected = lie!(Lie::NoAttribute(_));
    vec![
        told(at, "fewer bytes than the mask tells", &[&words(&[1, 0b1010]), &opaque(&words(&[1, 1]))], is_bad),
        told(at, "more bytes than the mask tells", &[&words(&[1, 0b10]), &opaque(&words(&[1, 1]))], no_attribute),
        told(at, "bytes without end", &[&words(&[1, 0b10, MANY])], is_bad),
        told(at, "more bytes than there are", &[&words(&[1, 0b10, 400, 1])], is_bad),
        told(
            at,
            "an attribute that nobody knows",
            &[&words(&[4, 2, 0, 0, 1 << 31]), &opaque(&words(&[1, 9]))],
            no_attribute,
        ),
        told(at, "a mask without end", &[&words(&[MANY])], is_bad),
        told(at, "no attributes", &[&words(&[0, 0])], no_attribute),
        told(at, "a kind of file that there is not", &[&words(&[1, 2]), &opaque(&words(&[12]))], is_bad),
        told(at, "an owner without end", &[&words(&[2, 2, 16]), &opaque(&words(&[1, MANY]))], is_bad),
    ]
}

fn data() -> Vec<Told> {
    let read = (Read, Version::V4_0, Some(Call::Read));
    let wrong: Expected = lie!(Lie::WrongWrite { .. });
    let mut all = vec![
        told(
            read,
            "more than was asked for",
            &[&words(&[1]), &opaque(b"12345")],
            lie!(Lie::TooMuchData { asked: 4, got: 5 }),
        ),
        told(read, "nothing before the end", &[&words(&[0, 0])], lie!(Lie::NoData)),
        told(read, "bytes without end", &[&words(&[1, MANY])], is_bad),
        told(read, "more bytes than there are", &[&words(&[1, 4])], is_bad),
        told(read, "an end that is neither", &[&words(&[2]), &opaque(b"1234")], is_bad),
    ];
    for call in [Call::Write, Call::LateWrite] {
        let write = (Write, Version::V4_0, Some(call));
        all.extend([
            told(write, "nothing", &[&words(&[0, 2, 0, 0])], wrong),
            told(write, "more than it was given", &[&words(&[5, 2, 0, 0])], wrong),
            told(write, "bytes without end", &[&words(&[MANY, 2, 0, 0])], wrong),
            told(write, "a safety that there is not", &[&words(&[4, 9, 0, 0])], is_bad),
        ]);
    }
    let write = (Write, Version::V4_0, Some(Call::Write));
    all.push(told(write, "less safe", &[&words(&[4, 0, 0, 0])], lie!(Lie::LessStable)));
    all
}

fn holes() -> Vec<Told> {
    let at = |operation, call| (operation, Version::V4_2, Some(call));
    let (plus, data, hole) = (at(ReadPlus, Call::ReadPlus), at(Seek, Call::SeekData), at(Seek, Call::SeekHole));
    let (copy, behind) = (at(Copy, Call::Copy), at(Copy, Call::CopyBehind));
    let copied = |count: u32| words(&[0, count, 2, 0, 0, 1, 1]);
    let unknown = [words(&[1]), of(&Stateid { seqid: 1, other: *b"nobody's one" }), copied(0)].concat();
    let not_known: Expected = |reason| matches!(reason, Some(Reason::Status(Neutral::V4(Status::BadStateid))));
    vec![
        told(plus, "a kind of segment that there is not", &[&words(&[1, 1, 7])], is_bad),
        told(plus, "segments without end", &[&words(&[1, MANY])], lie!(Lie::TooManySegments(MANY))),
        told(plus, "bytes outside", &[&words(&[1, 1, 0, 0, 50]), &opaque(b"four")], lie!(Lie::Segment { .. })),
        told(data, "data before the place", &[&words(&[0, 0, 3])], lie!(Lie::SoughtBackwards { from: 4, got: 3 })),
        told(hole, "a hole before the place", &[&words(&[0, 0, 3])], lie!(Lie::SoughtBackwards { from: 4, got: 3 })),
        told(data, "data where no file goes on", &[&words(&[0, MANY, MANY])], lie!(Lie::SoughtTooFar(u64::MAX))),
        told(hole, "a hole where no file goes on", &[&words(&[1, MANY, MANY])], lie!(Lie::SoughtTooFar(u64::MAX))),
        told(data, "an end that is neither", &[&words(&[2, 0, 4])], is_bad),
        told(
            copy,
            "more than was asked for",
            &[&words(&[0]), &copied(11)],
            lie!(Lie::TooMuchCopied { asked: 10, said: 11 }),
        ),
        told(copy, "two names of one copy", &[&words(&[2]), &copied(10)], is_bad),
        told(copy, "a copy behind the reply", &[&unknown], lie!(Lie::UnwantedBackground)),
        told(behind, "a copy that nobody knows", &[&unknown], not_known),
    ]
}
