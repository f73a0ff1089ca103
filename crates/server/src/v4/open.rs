//! OPEN (RFC 7530 §16.16, RFC 8881 §18.16).

use buffer::Output;
use proto::nfs4::{
    self, Bitmap, ChangeInfo, CreateHow, OpNumber, OpenArgs, OpenClaim, OpenHow, OpenOk, RESULT_LOCKTYPE_POSIX,
    StateOwner, Status,
};
use state::{Claim, ClientId, DelegationAnswer, ShareAccess, ShareDeny, StateError};
use vfs::{Access, Attributes, CreateMode, Entry, FileKind, Handle, Place, SetAttributes, race};
use xdr::{Encode, Encoder};

use super::attributes;
use super::change::DirChange;
use super::compound::Compound;
use super::delegation;
use super::failure::{Failure, OpResult};
use super::resent::{Noted, noted};
use super::set::{self, For, NewAttributes};
use super::state_error::{inner, outer};
use crate::fault::Fault;
use crate::node::{CallContext, Node};
use crate::{make, set_attributes};

/// The file of an OPEN.
struct Target {
    handle: Handle,
    attributes: Attributes,
    change: ChangeInfo,
    attributes_set: Bitmap,
    /// Whether this call created the file: its creator may then access it whatever its mode.
    is_new: bool,
    /// Whether this call truncates the file, which exists.
    is_truncated: bool,
}

/// The open that the client wants.
struct Wanted {
    client: ClientId,
    access: ShareAccess,
    deny: ShareDeny,
    claim: Claim,
}

pub(super) fn run(compound: &mut Compound<'_>, args: &OpenArgs<'_>, output: &mut Output) -> OpResult<()> {
    if let OpenHow::Create(_) = args.how {
        compound.progress.changes.keep();
    }
    match args.how {
        // The client ID in the owner changes with the client's next session.
        OpenHow::Create(CreateHow::Guarded(_)) => {
            let same = OpenArgs { seqid: 0, owner: StateOwner { client: nfs4::ClientId(0), owner: &[] }, ..*args };
            noted(compound, OpNumber::Open, &same, |compound, noted| open(compound, args, noted, output))
        }
        _ => open(compound, args, &Noted::NOTHING, output),
    }
}

fn open(compound: &mut Compound<'_>, args: &OpenArgs<'_>, noted: &Noted<'_>, output: &mut Output) -> OpResult<()> {
    let access = access(compound, args.share_access)?;
    let deny = ShareDeny::from_bits(args.share_deny).ok_or(Status::Inval)?;
    let client = if has_sessions(compound) { compound.client()? } else { ClientId(args.owner.client.0) };
    let wanted = Wanted { client, access, deny, claim: claim(&args.claim)? };
    if let OpenHow::Create(_) = args.how {
        let cx = compound.cx;
        cx.note_if_full(cx.server.state.may_open(cx.request.now, client, wanted.claim))?;
    }
    let (target, opened) = race::until_won(|| {
        let mut target = target(compound, args, client, noted)?;
        let opened = open_target(compound, args, &wanted, &mut target)?;
        OpResult::Ok(opened.map(|opened| (target, opened)))
    })?;
    compound.set_current_sibling(target.handle);
    compound.progress.current_stateid = Some(outer(&opened.stateid));
    // A delegation, or the exclusion of writers, guarantees that nobody changed the file after it: the attributes that
    // were fetched before are not enough then.
    if deny == ShareDeny::NONE && !matches!(opened.delegation, DelegationAnswer::Granted { .. }) {
        compound.attributes_after = Some(target.attributes);
    }
    let ok = OpenOk {
        stateid: outer(&opened.stateid),
        change: target.change,
        flags: flags(compound, &opened),
        attributes_set: target.attributes_set,
        delegation: delegation::open_delegation(compound, args.share_access, &opened.delegation),
    };
    ok.encode(&mut Encoder::new(&mut output.bytes));
    Ok(())
}

/// Opens the file for the client; `None` if the file of a name was removed before that.
fn open_target(
    compound: &Compound<'_>,
    args: &OpenArgs<'_>,
    wanted: &Wanted,
    target: &mut Target,
) -> OpResult<Option<state::Opened>> {
    let node = compound.current()?.sibling(target.handle);
    if target.is_truncated && !wanted.access.writes() {
        return Err(Status::Inval.into());
    }
    if !target.is_new {
        require_access(&node, &target.attributes, wanted.access, wanted.claim != Claim::New)?;
    }
    let (want, leased) = delegation::wish(compound, args, &node);
    let Wanted { client, access, deny, claim } = *wanted;
    let wire_handle = || node.wire_handle().as_bytes().into();
    let wanted = state::OpenArgs {
        client,
        owner: args.owner.owner,
        file: node.file_key(),
        access,
        deny,
        claim,
        want,
        leased,
        change: target.attributes.change,
        worker: compound.cx.request.worker,
        handle: &wire_handle,
    };
    if target.is_truncated {
        return truncate_and_open(compound.cx, &node, wanted, target);
    }
    let opened = compound.cx.note_if_full(node.server.state.open(node.now, &wanted));
    match args.claim {
        OpenClaim::Null(_) | OpenClaim::DelegateCur { .. } => unless_gone(opened),
        _ => Ok(Some(opened?)),
    }
}

/// `None` if the file was removed: its name is looked up again.
fn unless_gone(opened: Result<state::Opened, StateError>) -> OpResult<Option<state::Opened>> {
    match opened {
        Err(StateError::Stale) => Ok(None),
        opened => Ok(Some(opened?)),
    }
}

/// Truncates the file once nothing but that can refuse the open any more. Whoever truncates must have write permission,
/// even the owner.
fn truncate_and_open(
    cx: &CallContext<'_>,
    node: &Node<'_>,
    wanted: state::OpenArgs<'_>,
    target: &mut Target,
) -> OpResult<Option<state::Opened>> {
    node.require_writable()?;
    node.require(&target.attributes, Access::WRITE)?;
    let reserved = node.until_returned(|| match cx.note_if_full(node.server.state.reserve(node.now, wanted)) {
        Err(StateError::Delay) => Err(Fault::Recalling),
        reserved => Ok(reserved),
    })??;
    let set = SetAttributes { size_bytes: Some(0), ..SetAttributes::default() };
    let _change = node.announce_change();
    let truncated = set_attributes::set(node, &target.attributes, &set);
    let Some(attributes) = make::unless_removed(truncated)? else { return Ok(None) };
    target.attributes = attributes;
    unless_gone(reserved.open(node.now, attributes.change))
}

fn flags(compound: &Compound<'_>, opened: &state::Opened) -> u32 {
    let confirm = if opened.confirm { nfs4::RESULT_CONFIRM } else { 0 };
    // Without it, clients ignore CB_NOTIFY_LOCK and poll ever more rarely (RFC 8881 §18.16.3).
    let notify = if has_sessions(compound) { nfs4::RESULT_MAY_NOTIFY_LOCK } else { 0 };
    RESULT_LOCKTYPE_POSIX | confirm | notify
}

fn has_sessions(compound: &Compound<'_>) -> bool {
    compound.progress.minor.has_sessions()
}

/// The access mode. NFSv4.1 adds bits for delegations (RFC 8881 §18.16.3); NFSv4.0 has no others.
pub(super) fn access(compound: &Compound<'_>, bits: u32) -> OpResult<ShareAccess> {
    let known = nfs4::WANT_DELEG_MASK | nfs4::WANT_SIGNAL_WHEN_AVAILABLE | nfs4::WANT_PUSH_WHEN_UNCONTENDED;
    let wishes = if has_sessions(compound) { known } else { 0 };
    if bits & wishes & nfs4::WANT_DELEG_MASK > nfs4::WANT_CANCEL {
        return Err(Status::Inval.into());
    }
    Ok(ShareAccess::from_bits(bits & !wishes).ok_or(Status::Inval)?)
}

fn claim(claim: &OpenClaim<'_>) -> OpResult<Claim> {
    match claim {
        OpenClaim::Null(_) | OpenClaim::Fh => Ok(Claim::New),
        OpenClaim::Previous { delegation } => Ok(Claim::Previous(delegation::kind(*delegation)?)),
        OpenClaim::DelegateCur { stateid, .. } | OpenClaim::DelegCurFh { stateid } => {
            Ok(Claim::DelegateCurrent(inner(stateid)))
        }
        OpenClaim::DelegatePrev(_) | OpenClaim::DelegPrevFh => Err(Status::NotSupp.into()),
    }
}

fn target(compound: &Compound<'_>, args: &OpenArgs<'_>, client: ClientId, noted: &Noted<'_>) -> OpResult<Target> {
    let current = noted.on(compound.current()?);
    match (&args.claim, &args.how) {
        (OpenClaim::DelegateCur { .. }, OpenHow::Create(_)) => Err(Status::Inval.into()),
        (OpenClaim::Null(name) | OpenClaim::DelegateCur { name, .. }, how) => by_name(compound, &current, name.0, how),
        (_, OpenHow::Create(_)) => Err(Status::Inval.into()),
        (_, OpenHow::NoCreate) => {
            let attributes = current.attributes()?;
            require_regular(&attributes)?;
            if attributes.links == 0 && args.claim == OpenClaim::Fh {
                require_open(&current, client)?;
            }
            let change = ChangeInfo { atomic: false, before: 0, after: 0 };
            let (handle, attributes_set) = (current.handle, Bitmap::EMPTY);
            Ok(Target { handle, attributes, change, attributes_set, is_new: false, is_truncated: false })
        }
    }
}

/// Only a client that has a file open opens it again by its handle once its last name is gone. Others found it by a
/// name that it has lost, and look that up again when the handle is stale.
fn require_open(node: &Node<'_>, client: ClientId) -> OpResult<()> {
    if node.server.state.has_open(client, &node.file_key()) { Ok(()) } else { Err(Status::Stale.into()) }
}

fn by_name(compound: &Compound<'_>, dir: &Node<'_>, name: &[u8], how: &OpenHow<'_>) -> OpResult<Target> {
    let (found, change) = match how {
        OpenHow::NoCreate => {
            let site = Site::searchable(dir, dir.attributes()?, name)?;
            // The directory does not change.
            let change = ChangeInfo { atomic: true, before: site.attributes.change, after: site.attributes.change };
            (OpenedName::existing(existing(&site)?.ok_or(Status::NoEnt)?), change)
        }
        OpenHow::Create(how) => {
            let change = DirChange::begin(dir)?;
            let found = create(compound, &Site::searchable(dir, change.before(), name)?, how)?;
            (found, change.info(dir))
        }
    };
    let OpenedName { entry: Entry { handle, attributes }, attributes_set, is_new, is_truncated } = found;
    require_regular(&attributes)?;
    Ok(Target { handle, attributes, change, attributes_set, is_new, is_truncated })
}

/// A name in a directory that the caller may search.
struct Site<'a> {
    dir: &'a Node<'a>,
    attributes: Attributes,
    place: Place<'a>,
}

impl<'a> Site<'a> {
    fn searchable(dir: &'a Node<'_>, attributes: Attributes, name: &'a [u8]) -> OpResult<Site<'a>> {
        super::lookup::require_searchable(dir, &attributes)?;
        Ok(Site { dir, attributes, place: Place { dir: dir.handle, name: vfs::Name::new(name)? } })
    }
}

/// The existing file. Where another export begins, it is a directory, even for callers without access.
fn existing(site: &Site<'_>) -> OpResult<Option<Entry>> {
    match site.dir.existing(site.place) {
        Err(vfs::Error::Elsewhere(_)) => Err(Status::IsDir.into()),
        existing => Ok(existing?),
    }
}

/// The file of a name after OPEN.
struct OpenedName {
    entry: Entry,
    attributes_set: Bitmap,
    is_new: bool,
    is_truncated: bool,
}

impl OpenedName {
    fn existing(entry: Entry) -> OpenedName {
        OpenedName { entry, attributes_set: Bitmap::EMPTY, is_new: false, is_truncated: false }
    }

    fn new(entry: Entry, attributes_set: Bitmap) -> OpenedName {
        OpenedName { entry, attributes_set, is_new: true, is_truncated: false }
    }
}

fn create(compound: &Compound<'_>, site: &Site<'_>, how: &CreateHow<'_>) -> OpResult<OpenedName> {
    let regular = For { node: site.dir, kind: FileKind::Regular };
    match how {
        CreateHow::Unchecked(fattr) => {
            let new = NewAttributes::parse(compound, fattr, regular)?;
            race::until_won(|| take_or_make(site, &new))
        }
        CreateHow::Guarded(fattr) => {
            let new = NewAttributes::parse(compound, fattr, regular)?;
            make_guarded(site, &new)
        }
        // An exclusive create that finds the file has created it, since the verifier matches.
        CreateHow::Exclusive(verifier) => {
            let none = SetAttributes::default();
            let entry = make_new(site, CreateMode::Exclusive(*verifier), &none)?;
            Ok(OpenedName::new(entry, set::taken_by_the_verifier()))
        }
        CreateHow::Exclusive41 { verifier, attributes } => {
            if !attributes.mask.difference(attributes::settable_on_exclusive_create(compound.progress.minor)).is_empty()
            {
                return Err(Status::Inval.into());
            }
            let new = NewAttributes::parse(compound, attributes, regular)?;
            let entry = make_new(site, CreateMode::Exclusive(*verifier), &new.set)?;
            Ok(OpenedName::new(entry, new.mask.union(set::taken_by_the_verifier())))
        }
    }
}

/// Takes the existing file or creates one; `None` if another call created or removed it meanwhile.
fn take_or_make(site: &Site<'_>, new: &NewAttributes) -> OpResult<Option<OpenedName>> {
    if let Some(existing) = existing(site)? {
        return Ok(Some(taken(existing, new)));
    }
    match make_guarded(site, new) {
        Err(Failure::Status(Status::Exist)) => Ok(None),
        made => made.map(Some),
    }
}

fn make_guarded(site: &Site<'_>, new: &NewAttributes) -> OpResult<OpenedName> {
    let made = make_new(site, CreateMode::Guarded, &new.at_birth())?;
    let (entry, attributes_set) = new.finish(site.dir, made)?;
    Ok(OpenedName::new(entry, attributes_set))
}

fn make_new(site: &Site<'_>, mode: CreateMode, set: &SetAttributes) -> OpResult<Entry> {
    site.dir.require_changeable(Ok(site.attributes))?;
    Ok(make::regular(site.dir, site.place, mode, set)?)
}

/// An existing file; of its new attributes, only a size of 0 is applied (RFC 8881 §18.16.3).
fn taken(existing: Entry, new: &NewAttributes) -> OpenedName {
    let is_truncated = new.set.size_bytes == Some(0);
    let size = if is_truncated { nfs4::Attribute::set(&[nfs4::Attribute::Size]) } else { Bitmap::EMPTY };
    OpenedName { attributes_set: size, is_truncated, ..OpenedName::existing(existing) }
}

fn require_regular(attributes: &Attributes) -> OpResult<()> {
    match attributes.kind {
        FileKind::Regular => Ok(()),
        FileKind::Directory => Err(Status::IsDir.into()),
        // RFC 8881 §18.16.3: SYMLINK for links, and WRONG_TYPE for other kinds in 4.1.
        FileKind::Symlink => Err(Status::Symlink.into()),
        _ => Err(Status::WrongType.into()),
    }
}

/// Checks the owner like everybody else, since the server sees the open. The owner passes only for opens that were
/// checked earlier: reclaimed ones, or those that the client granted under a delegation. Execute permission is enough
/// for reading, since running a program reads it.
fn require_access(node: &Node<'_>, attributes: &Attributes, wanted: ShareAccess, was_judged: bool) -> OpResult<()> {
    let require = |access| match was_judged {
        true => node.require_or_own(attributes, access),
        false => node.require(attributes, access),
    };
    if wanted.writes() {
        node.require_writable_storage()?;
        require(Access::WRITE)?;
    }
    if wanted.reads() && require(Access::READ).is_err() {
        require(Access::EXECUTE)?;
    }
    Ok(())
}
