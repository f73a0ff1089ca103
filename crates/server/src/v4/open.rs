//! OPEN (RFC 7530 §16.16, RFC 8881 §18.16).

use buffer::Output;
use proto::nfs4::{
    self, Bitmap, ChangeInfo, CreateHow, OpNumber, OpenArgs, OpenClaim, OpenHow, OpenOk, RESULT_LOCKTYPE_POSIX,
    StateOwner, Status,
};
use state::{Claim, ClientId, DelegationAnswer, ShareAccess, ShareDeny};
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
use crate::node::Node;
use crate::{make, set_attributes};

/// The file of an OPEN.
struct Target {
    handle: Handle,
    attributes: Attributes,
    change: ChangeInfo,
    attributes_set: Bitmap,
    /// Whether this call created the file: its creator may then access it whatever its mode.
    is_new: bool,
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
    let claim = claim(&args.claim)?;
    if let OpenHow::Create(_) = args.how {
        compound.cx.server.state.may_open(compound.cx.request.now, client, claim)?;
    }
    let target = target(compound, args, noted, access)?;
    let node = compound.current()?.sibling(target.handle);
    if !target.is_new {
        require_access(&node, &target.attributes, access, !matches!(claim, Claim::New))?;
    }
    let (want, leased) = delegation::wish(compound, args, &node);
    let opened = compound.cx.server.state.open(
        compound.cx.request.now,
        &state::OpenArgs {
            client,
            owner: args.owner.owner,
            file: node.file_key(),
            access,
            deny,
            claim,
            want,
            leased,
            change: target.attributes.change,
            handle: &|| node.wire_handle().as_bytes().into(),
        },
    )?;
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
        flags: RESULT_LOCKTYPE_POSIX | if opened.confirm { nfs4::RESULT_CONFIRM } else { 0 },
        attributes_set: target.attributes_set,
        delegation: delegation::open_delegation(compound, args.share_access, &opened.delegation),
    };
    ok.encode(&mut Encoder::new(&mut output.bytes));
    Ok(())
}

fn has_sessions(compound: &Compound<'_>) -> bool {
    compound.progress.minor.has_sessions()
}

/// The access mode. NFSv4.1 adds bits for delegations (RFC 8881 §18.16.3); NFSv4.0 has no others.
fn access(compound: &Compound<'_>, bits: u32) -> OpResult<ShareAccess> {
    let wishes = if has_sessions(compound) { !nfs4::SHARE_ACCESS_BOTH } else { 0 };
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

fn target(compound: &Compound<'_>, args: &OpenArgs<'_>, noted: &Noted<'_>, access: ShareAccess) -> OpResult<Target> {
    let current = noted.on(compound.current()?);
    match (&args.claim, &args.how) {
        (OpenClaim::DelegateCur { .. }, OpenHow::Create(_)) => Err(Status::Inval.into()),
        (OpenClaim::Null(name) | OpenClaim::DelegateCur { name, .. }, how) => {
            by_name(compound, &current, name.0, how, access)
        }
        (_, OpenHow::Create(_)) => Err(Status::Inval.into()),
        (_, OpenHow::NoCreate) => {
            let attributes = current.attributes()?;
            require_regular(&attributes)?;
            let change = ChangeInfo { atomic: false, before: 0, after: 0 };
            Ok(Target { handle: current.handle, attributes, change, attributes_set: Bitmap::EMPTY, is_new: false })
        }
    }
}

fn by_name(
    compound: &Compound<'_>,
    dir: &Node<'_>,
    name: &[u8],
    how: &OpenHow<'_>,
    access: ShareAccess,
) -> OpResult<Target> {
    let (found, change) = match how {
        OpenHow::NoCreate => {
            let site = Site::searchable(dir, dir.attributes()?, name)?;
            // The directory does not change.
            let change = ChangeInfo { atomic: true, before: site.attributes.change, after: site.attributes.change };
            (OpenedName::existing(existing(&site)?.ok_or(Status::NoEnt)?), change)
        }
        OpenHow::Create(how) => {
            let change = DirChange::begin(dir)?;
            let found = create(compound, &Site::searchable(dir, change.before(), name)?, how, access)?;
            (found, change.info(dir))
        }
    };
    let OpenedName { entry: Entry { handle, attributes }, attributes_set, is_new } = found;
    require_regular(&attributes)?;
    Ok(Target { handle, attributes, change, attributes_set, is_new })
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
}

impl OpenedName {
    fn existing(entry: Entry) -> OpenedName {
        OpenedName { entry, attributes_set: Bitmap::EMPTY, is_new: false }
    }

    fn new(entry: Entry, attributes_set: Bitmap) -> OpenedName {
        OpenedName { entry, attributes_set, is_new: true }
    }
}

fn create(compound: &Compound<'_>, site: &Site<'_>, how: &CreateHow<'_>, access: ShareAccess) -> OpResult<OpenedName> {
    let regular = For { node: site.dir, kind: FileKind::Regular };
    match how {
        CreateHow::Unchecked(fattr) => {
            let new = NewAttributes::parse(compound, fattr, regular)?;
            race::until_won(|| take_or_make(site, &new, access))
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
fn take_or_make(site: &Site<'_>, new: &NewAttributes, access: ShareAccess) -> OpResult<Option<OpenedName>> {
    if let Some(existing) = existing(site)? {
        return take(site.dir, existing, new, access);
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

/// Takes an existing file; only a size of 0 is applied (RFC 8881 §18.16.3). `None` if it was removed meanwhile.
fn take(dir: &Node<'_>, existing: Entry, new: &NewAttributes, access: ShareAccess) -> OpResult<Option<OpenedName>> {
    require_regular(&existing.attributes)?;
    if new.set.size_bytes != Some(0) {
        return Ok(Some(OpenedName::existing(existing)));
    }
    let set = SetAttributes { size_bytes: Some(0), ..SetAttributes::default() };
    let file = dir.sibling(existing.handle);
    // The file is truncated before it is opened, so the checks of the open come first.
    require_access(&file, &existing.attributes, access, false)?;
    file.require_unreserved_for(&set).map_err(reserved)?;
    let _change = file.announce_change();
    let Some(attributes) = make::unless_removed(set_attributes::set(&file, &existing.attributes, &set))? else {
        return Ok(None);
    };
    let attributes_set = nfs4::Attribute::set(&[nfs4::Attribute::Size]);
    Ok(Some(OpenedName { attributes_set, ..OpenedName::existing(Entry { attributes, ..existing }) }))
}

/// A reservation against an open that truncates has its own status (RFC 8881 §18.16.3).
fn reserved(fault: Fault) -> Failure {
    match fault {
        Fault::File(vfs::Error::AccessDenied) => Status::ShareDenied.into(),
        fault => fault.into(),
    }
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
        node.require_writable()?;
        require(Access::WRITE)?;
    }
    if wanted.reads() && require(Access::READ).is_err() {
        require(Access::EXECUTE)?;
    }
    Ok(())
}
