//! Captured COMPOUNDs of NFSv4. Their operations are kept in XDR, with numbers in the place of handles, stateids and
//! data, and with the names of the replay.

use client::proto::nfs4::{ArgOp, ClientId, CompoundHead, OpNumber, SessionId};
use measure::record::Direction;
use xdr::{Decode, Decoder};

use super::ids::{Change, FileId, Place, StateId};

/// A captured COMPOUND.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Compound {
    pub operations: Box<[u8]>,
    /// The current file behind each operation, if it is known.
    pub current: Box<[Option<FileId>]>,
    /// The names in the arguments.
    pub names: Box<[Named]>,
    /// The opens and locks that it uses.
    pub states: Box<[StateId]>,
    /// The file whose size it sets.
    pub resized: Option<FileId>,
    /// What it is counted as, and the current file of that.
    pub main: OpNumber,
    pub main_file: Option<FileId>,
    /// Whether the client had the server keep the reply.
    pub is_kept: bool,
    /// How many bytes it moves at most.
    pub wanted_bytes: Option<u64>,
    /// The open or lock in its reply.
    pub made: Option<StateId>,
    /// Whether its reply asks for OPEN_CONFIRM.
    pub is_confirmed_later: bool,
}

/// A name in the arguments.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Named {
    pub place: Place,
    pub change: Option<Change>,
}

/// The client that made a COMPOUND, as far as its arguments show it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Holder {
    Session(SessionId),
    Id(ClientId),
}

impl Compound {
    /// The client id that a COMPOUND makes a session of.
    pub(super) fn session_of(mut from: Decoder<'_>) -> Option<ClientId> {
        CompoundHead::decode(&mut from).ok()?;
        match ArgOp::decode(&mut from).ok()? {
            ArgOp::CreateSession(create) => Some(create.client),
            _ => None,
        }
    }

    /// The operations.
    pub(super) fn operations(&self) -> impl Iterator<Item = ArgOp<'_>> {
        operations(&self.operations)
    }

    /// The files that it has the handles of, or looks up.
    pub(super) fn files(&self) -> impl Iterator<Item = FileId> {
        let mut last = None;
        self.current.iter().flatten().copied().filter(move |file| last.replace(*file) != Some(*file))
    }

    /// Whether it changes what is open or locked.
    pub(super) fn changes_opens(&self) -> bool {
        use OpNumber as N;
        matches!(self.main, N::Open | N::OpenConfirm | N::OpenDowngrade | N::Close | N::Lock | N::Locku)
    }

    /// The directory that it lists, and from which cookie on.
    pub(super) fn listed(&self) -> Option<(FileId, u64)> {
        self.operations().zip(&self.current).find_map(|(operation, dir)| match operation {
            ArgOp::Readdir(readdir) => Some(((*dir)?, readdir.cookie)),
            _ => None,
        })
    }

    /// What its bytes count as.
    pub(super) fn direction(&self) -> Direction {
        match self.main {
            OpNumber::Read | OpNumber::ReadPlus => Direction::Read,
            OpNumber::Write => Direction::Write,
            OpNumber::Commit => Direction::Sync,
            _ => Direction::Metadata,
        }
    }
}

/// The operations in XDR.
pub(super) fn operations(arguments: &[u8]) -> impl Iterator<Item = ArgOp<'_>> {
    let mut from = Decoder::new(arguments);
    std::iter::from_fn(move || if from.rest().is_empty() { None } else { ArgOp::decode(&mut from).ok() })
}
