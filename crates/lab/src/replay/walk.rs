//! Follows the current file through the operations of a captured COMPOUND, and gives numbers to what they name.

use buffer::Buffer;
use client::Handle;
use client::proto::nfs4::{
    ArgOp, Attribute, Component, CreateArgs, CreateHow, CreateType, GetxattrArgs, LinkArgs, LockArgs, Locker,
    LocktArgs, LookupArgs, NverifyArgs, OpNumber, OpenArgs, OpenClaim, OpenHow, PutfhArgs, ReleaseLockownerArgs,
    RemoveArgs, RemovexattrArgs, RenameArgs, SHARE_ACCESS_BOTH, SecinfoArgs, SetattrArgs, SetxattrArgs, StableHow,
    Stateid, VerifyArgs, WriteArgs,
};
use xdr::{Decode, Decoder, Encode, Encoder};

use super::compound::{Compound, Holder, Named};
use super::ids::{Change, FileId, StateId};
use super::invented::{MAX_TARGET_BYTES, attribute_name, harmless, name, owner, target, unowned};
use super::left_out::{LeftOut, OperationName, transfer};
use super::states::{Numbering, stateids};
use super::tree::Kind;

/// The handle that stands for the root of a server, whose handle PUTROOTFH does not have.
const ROOT: &[u8] = &[];

/// A walk through the operations of a COMPOUND.
pub(super) struct Walk<'t> {
    numbering: Numbering<'t>,
    pub holder: Option<Holder>,
    current: Option<FileId>,
    saved: Option<FileId>,
    operations: Buffer,
    files: Vec<Option<FileId>>,
    names: Vec<Named>,
    states: Vec<StateId>,
    resized: Option<FileId>,
    main: Option<(OpNumber, Option<FileId>)>,
    is_kept: bool,
    wanted_bytes: Option<u64>,
}

impl<'t> Walk<'t> {
    pub(super) fn new(numbering: Numbering<'t>) -> Walk<'t> {
        Walk {
            numbering,
            holder: None,
            current: None,
            saved: None,
            operations: Buffer::new(),
            files: Vec::new(),
            names: Vec::new(),
            states: Vec::new(),
            resized: None,
            main: None,
            is_kept: false,
            wanted_bytes: None,
        }
    }

    /// What the operations are together. Without any, the COMPOUND was for the session alone.
    pub(super) fn end(self) -> Result<Compound, LeftOut> {
        let (main, main_file) = self.main.ok_or(LeftOut::Session)?;
        Ok(Compound {
            operations: self.operations.as_slice().into(),
            current: self.files.into(),
            names: self.names.into(),
            states: self.states.into(),
            resized: self.resized,
            main,
            main_file,
            is_kept: self.is_kept,
            wanted_bytes: self.wanted_bytes,
            made: None,
            is_confirmed_later: false,
        })
    }

    /// Adds an operation.
    pub(super) fn add(&mut self, operation: &ArgOp<'_>) -> Result<(), LeftOut> {
        match operation {
            ArgOp::Sequence(sequence) => {
                self.holder = Some(Holder::Session(sequence.session));
                self.is_kept = sequence.cache_this;
                Ok(())
            }
            ArgOp::Putfh(put) => self.put(put.object.into()),
            ArgOp::Putrootfh | ArgOp::Putpubfh => {
                self.put(Handle::new(ROOT).unwrap_or_else(|| unreachable!("it is short")))
            }
            ArgOp::Savefh => {
                self.saved = self.current;
                self.push(operation)
            }
            ArgOp::Restorefh => {
                self.current = self.saved;
                self.push(operation)
            }
            ArgOp::Lookupp => {
                self.current = self.current.and_then(|file| self.numbering.tree.parent(file));
                self.push(operation)
            }
            ArgOp::Open(open) => self.open(open),
            ArgOp::Lock(_) | ArgOp::Lockt(_) | ArgOp::ReleaseLockowner(_) => self.lock(operation),
            ArgOp::Setattr(set) => self.set(set),
            other => self.name_or_use(other),
        }
    }

    /// Adds a WRITE, of which the data need not be captured. Returns whether they were, so that more follows.
    pub(super) fn write(&mut self, from: &mut Decoder<'_>) -> Result<bool, LeftOut> {
        from.u32()?;
        let (stateid, offset) = (Stateid::decode(from)?, from.u64()?);
        let stable = StableHow::decode(from)?;
        let count = transfer(from.clone().u32()?)?;
        self.wanted_bytes = Some(count.into());
        self.note(|walk, file| {
            walk.numbering.tree.suppose(file, Kind::Regular);
            walk.numbering.tree.note_resize(file);
        });
        self.push(&ArgOp::Write(WriteArgs { stateid, offset, stable, data: &count.to_be_bytes() }))?;
        Ok(from.opaque(count as usize).is_ok())
    }

    fn put(&mut self, handle: Handle) -> Result<(), LeftOut> {
        let file = self.numbering.tree.file(self.numbering.server, handle)?;
        if handle.as_bytes() == ROOT {
            self.numbering.tree.note_kind_and_size(file, Some(Kind::Directory), None);
        }
        self.current = Some(file);
        self.push(&ArgOp::Putfh(PutfhArgs { object: file.encode() }))
    }

    /// Adds an operation with names, or one that uses the current file.
    fn name_or_use(&mut self, operation: &ArgOp<'_>) -> Result<(), LeftOut> {
        match operation {
            ArgOp::Lookup(lookup) => {
                let name = self.enter(lookup.name, None)?;
                self.push(&ArgOp::Lookup(LookupArgs { name: Component(&name) }))
            }
            ArgOp::Create(create) => self.create(create),
            ArgOp::Remove(remove) => {
                let name = self.name(self.current, remove.target, Some(Change::Removes))?;
                self.push(&ArgOp::Remove(RemoveArgs { target: Component(&name) }))
            }
            ArgOp::Rename(rename) => {
                let old = self.name(self.saved, rename.old_name, Some(Change::Removes))?;
                let new = self.name(self.current, rename.new_name, Some(Change::MovesTo))?;
                self.push(&ArgOp::Rename(RenameArgs { old_name: Component(&old), new_name: Component(&new) }))
            }
            ArgOp::Link(link) => {
                let name = self.name(self.current, link.new_name, Some(Change::Makes))?;
                self.push(&ArgOp::Link(LinkArgs { new_name: Component(&name) }))
            }
            ArgOp::Secinfo(secinfo) => {
                let name = self.name(self.current, secinfo.name, None)?;
                self.current = None;
                self.push(&ArgOp::Secinfo(SecinfoArgs { name: Component(&name) }))
            }
            other => self.move_bytes(other),
        }
    }

    /// Adds an operation on the bytes of the current file, or one that says nothing about it.
    fn move_bytes(&mut self, operation: &ArgOp<'_>) -> Result<(), LeftOut> {
        match operation {
            ArgOp::Read(read) => self.read(read.offset, read.count)?,
            ArgOp::ReadPlus(read) => self.read(read.offset, read.count)?,
            ArgOp::Copy(copy) if !copy.source_servers.is_empty() => return Err(left_out(OpNumber::Copy)),
            ArgOp::Copy(copy) => self.copy(copy.source_offset, copy.count),
            ArgOp::Clone(clone) => self.copy(clone.source_offset, clone.count),
            ArgOp::Commit(_) => self.note(|walk, file| walk.numbering.tree.suppose(file, Kind::Regular)),
            ArgOp::Allocate(_) | ArgOp::Deallocate(_) => self.note(|walk, file| walk.numbering.tree.note_resize(file)),
            ArgOp::Readdir(_) => self.note(|walk, file| walk.numbering.tree.suppose(file, Kind::Directory)),
            ArgOp::Readlink => self.note(|walk, file| walk.numbering.tree.suppose(file, Kind::Symlink)),
            other => return self.carry_over(other),
        }
        self.push(operation)
    }

    /// Adds an operation as it is, if another server can do it.
    fn carry_over(&mut self, operation: &ArgOp<'_>) -> Result<(), LeftOut> {
        match operation {
            // Every client asks for it, that of the replay too.
            ArgOp::Getattr(get) if get.request == Attribute::set(&[Attribute::LeaseTime]) => Err(LeftOut::Session),
            ArgOp::Access(_)
            | ArgOp::Close(_)
            | ArgOp::FreeStateid(_)
            | ArgOp::Getattr(_)
            | ArgOp::Getfh
            | ArgOp::IoAdvise(_)
            | ArgOp::Listxattrs(_)
            | ArgOp::Locku(_)
            | ArgOp::OpenConfirm(_)
            | ArgOp::OpenDowngrade(_)
            | ArgOp::SecinfoNoName(_)
            | ArgOp::Seek(_) => self.push(operation),
            ArgOp::Verify(VerifyArgs { attributes }) | ArgOp::Nverify(NverifyArgs { attributes })
                if attributes.mask == Attribute::set(&[Attribute::Type]) =>
            {
                self.push(operation)
            }
            ArgOp::Getxattr(get) => {
                let name = attribute_name(get.name);
                self.push(&ArgOp::Getxattr(GetxattrArgs { name: Component(&name) }))
            }
            ArgOp::Setxattr(set) => {
                let (name, value) = (attribute_name(set.name), target(set.value.len()));
                self.push(&ArgOp::Setxattr(SetxattrArgs { option: set.option, name: Component(&name), value: &value }))
            }
            ArgOp::Removexattr(remove) => {
                let name = attribute_name(remove.name);
                self.push(&ArgOp::Removexattr(RemovexattrArgs { name: Component(&name) }))
            }
            other => Err(not_carried_over(other)),
        }
    }

    fn open(&mut self, open: &OpenArgs<'_>) -> Result<(), LeftOut> {
        let change = match open.how {
            OpenHow::NoCreate => None,
            OpenHow::Create(CreateHow::Unchecked(_)) => Some(Change::MakesOrTakes),
            OpenHow::Create(_) => Some(Change::Makes),
        };
        let name;
        let claim = match open.claim {
            OpenClaim::Null(component) | OpenClaim::DelegateCur { name: component, .. } => {
                name = self.enter(component, change)?;
                OpenClaim::Null(Component(&name))
            }
            OpenClaim::Fh | OpenClaim::DelegCurFh { .. } => OpenClaim::Fh,
            OpenClaim::Previous { .. } | OpenClaim::DelegatePrev(_) | OpenClaim::DelegPrevFh => {
                return Err(LeftOut::Session);
            }
        };
        self.holder.get_or_insert(Holder::Id(open.owner.client));
        let mut buffer = Buffer::new();
        let how = self.how(&open.how, &mut buffer)?;
        let owner = owner(&open.owner);
        let (owner, share_access) = (unowned(&owner), open.share_access & SHARE_ACCESS_BOTH);
        self.push(&ArgOp::Open(OpenArgs { share_access, owner, how, claim, ..*open }))
    }

    fn how<'b>(&mut self, how: &OpenHow<'_>, buffer: &'b mut Buffer) -> Result<OpenHow<'b>, LeftOut> {
        let OpenHow::Create(create) = how else { return Ok(OpenHow::NoCreate) };
        Ok(OpenHow::Create(match create {
            CreateHow::Unchecked(set) => {
                if set.mask.contains(Attribute::Size.number()) {
                    self.resized = self.current;
                }
                CreateHow::Unchecked(harmless(set, buffer)?)
            }
            CreateHow::Guarded(set) => CreateHow::Guarded(harmless(set, buffer)?),
            CreateHow::Exclusive(verifier) => CreateHow::Exclusive(*verifier),
            CreateHow::Exclusive41 { verifier, attributes } => {
                CreateHow::Exclusive41 { verifier: *verifier, attributes: harmless(attributes, buffer)? }
            }
        }))
    }

    fn create(&mut self, create: &CreateArgs<'_>) -> Result<(), LeftOut> {
        let name = self.enter(create.name, Some(Change::Makes))?;
        let (mut buffer, link);
        buffer = Buffer::new();
        let kind = match &create.kind {
            CreateType::Symlink(text) => {
                link = target(text.len().clamp(1, MAX_TARGET_BYTES as usize));
                CreateType::Symlink(&link)
            }
            CreateType::Directory => CreateType::Directory,
            // Devices would require the superuser.
            _ => CreateType::Fifo,
        };
        let attributes = harmless(&create.attributes, &mut buffer)?;
        self.push(&ArgOp::Create(CreateArgs { kind, name: Component(&name), attributes }))
    }

    fn lock(&mut self, operation: &ArgOp<'_>) -> Result<(), LeftOut> {
        let named;
        match operation {
            ArgOp::Lock(lock) if lock.reclaim => Err(LeftOut::Session),
            ArgOp::Lock(LockArgs {
                locker: Locker::New { owner: who, open_seqid, open_stateid, lock_seqid }, ..
            }) => {
                named = owner(who);
                let ArgOp::Lock(lock) = operation else { return Err(LeftOut::Damaged) };
                let (open_seqid, open_stateid, lock_seqid) = (*open_seqid, *open_stateid, *lock_seqid);
                let locker = Locker::New { open_seqid, open_stateid, lock_seqid, owner: unowned(&named) };
                self.push(&ArgOp::Lock(LockArgs { locker, ..*lock }))
            }
            ArgOp::Lockt(test) => {
                named = owner(&test.owner);
                self.push(&ArgOp::Lockt(LocktArgs { owner: unowned(&named), ..*test }))
            }
            ArgOp::ReleaseLockowner(release) => {
                named = owner(&release.owner);
                self.push(&ArgOp::ReleaseLockowner(ReleaseLockownerArgs { owner: unowned(&named) }))
            }
            other => self.push(other),
        }
    }

    fn set(&mut self, set: &SetattrArgs<'_>) -> Result<(), LeftOut> {
        if set.attributes.mask.contains(Attribute::Size.number()) {
            self.resized = self.current;
        }
        let mut buffer = Buffer::new();
        let attributes = harmless(&set.attributes, &mut buffer)?;
        self.push(&ArgOp::Setattr(SetattrArgs { stateid: set.stateid, attributes }))
    }

    fn read(&mut self, offset: u64, count: u32) -> Result<(), LeftOut> {
        self.wanted_bytes = Some(transfer(count)?.into());
        self.note(|walk, file| {
            walk.numbering.tree.suppose(file, Kind::Regular);
            walk.numbering.tree.note_asked(file, offset..offset.saturating_add(count.into()));
        });
        Ok(())
    }

    /// Notes that bytes of the saved file are copied to the current one.
    fn copy(&mut self, from: u64, count: u64) {
        if let Some(source) = self.saved {
            self.numbering.tree.suppose(source, Kind::Regular);
            self.numbering.tree.note_asked(source, from..from.saturating_add(count));
        }
        self.note(|walk, file| walk.numbering.tree.note_resize(file));
    }

    fn note(&mut self, note: impl FnOnce(&mut Self, FileId)) {
        if let Some(file) = self.current {
            note(self, file);
        }
    }

    /// Goes to the file behind a name of the current directory. Returns the name in the replay.
    fn enter(&mut self, component: Component<'_>, change: Option<Change>) -> Result<Vec<u8>, LeftOut> {
        let name = self.name(self.current, component, change)?;
        let place = self.names.last().map(|named| named.place);
        self.current = place.map(|place| self.numbering.tree.behind(place)).transpose()?.flatten();
        Ok(name)
    }

    /// Notes a name in a directory. Returns that in the replay.
    fn name(
        &mut self,
        dir: Option<FileId>,
        component: Component<'_>,
        change: Option<Change>,
    ) -> Result<Vec<u8>, LeftOut> {
        let place = self.numbering.tree.place(dir.ok_or(LeftOut::NoFile)?, component.0)?;
        self.names.push(Named { place, change });
        Ok(name(place.name))
    }

    /// Appends an operation, with numbers in the place of its stateids.
    fn push(&mut self, operation: &ArgOp<'_>) -> Result<(), LeftOut> {
        let at = self.operations.len();
        let mut numbered = operation.clone();
        for stateid in stateids(&mut numbered) {
            if let Some(number) = self.numbering.states.number(self.numbering.server, stateid)? {
                *stateid = number.encode(stateid.seqid);
                self.states.push(number);
                // What used a delegation uses the open here.
                self.states.extend(self.numbering.states[number].open);
            }
        }
        numbered.encode(&mut Encoder::new(&mut self.operations));
        // An operation begins with its number.
        let number = Decoder::new(&self.operations.as_slice()[at..]).u32()?;
        let number = OpNumber::from_number(number).ok_or(LeftOut::Damaged)?;
        if self.main.is_none_or(|(main, _)| weight(number) >= weight(main)) {
            self.main = Some((number, self.current));
        }
        self.files.push(self.current);
        Ok(())
    }
}

/// How much an operation says of what a COMPOUND is for.
fn weight(operation: OpNumber) -> u8 {
    use OpNumber as N;
    match operation {
        N::Putfh | N::Savefh | N::Restorefh | N::Getfh => 0,
        N::Getattr => 1,
        N::Access => 2,
        N::Lookup | N::Lookupp => 3,
        _ => 4,
    }
}

fn left_out(operation: OpNumber) -> LeftOut {
    LeftOut::Operation(OperationName(operation.number()))
}

/// Why an operation is left out that no other server can do.
fn not_carried_over(operation: &ArgOp<'_>) -> LeftOut {
    let mut buffer = Buffer::new();
    operation.encode(&mut Encoder::new(&mut buffer));
    let number = Decoder::new(buffer.as_slice()).u32().unwrap_or_default();
    match operation {
        ArgOp::BackchannelCtl(_)
        | ArgOp::BindConnToSession(_)
        | ArgOp::CreateSession(_)
        | ArgOp::DestroyClientid(_)
        | ArgOp::DestroySession(_)
        | ArgOp::ExchangeId(_)
        | ArgOp::ReclaimComplete(_)
        | ArgOp::Renew(_)
        | ArgOp::SetSsv(_)
        | ArgOp::Setclientid(_)
        | ArgOp::SetclientidConfirm(_)
        | ArgOp::TestStateid(_) => LeftOut::Session,
        _ => LeftOut::Operation(OperationName(number)),
    }
}
