//! The operations as data: their minor versions and requirements.

use super::MinorVersion;

/// The operations of a COMPOUND by number, in all minor versions (`nfs_opnum4`).
///
/// The reply to any other number contains [`OP_ILLEGAL`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum OpNumber {
    /// ACCESS: returns what the caller may do with a file (RFC 7530 §16.1, RFC 8881 §18.1).
    Access = 3,
    /// CLOSE: ends an open (RFC 7530 §16.2, RFC 8881 §18.2).
    Close = 4,
    /// COMMIT: flushes written data to stable storage (RFC 7530 §16.3, RFC 8881 §18.3).
    Commit = 5,
    /// CREATE: makes a file that is not regular (RFC 7530 §16.4, RFC 8881 §18.4).
    Create = 6,
    /// DELEGPURGE: releases delegations from before a client's restart (RFC 7530 §16.5, RFC 8881 §18.5).
    Delegpurge = 7,
    /// DELEGRETURN: returns a delegation (RFC 7530 §16.6, RFC 8881 §18.6).
    Delegreturn = 8,
    /// GETATTR: gets attributes (RFC 7530 §16.7, RFC 8881 §18.7).
    Getattr = 9,
    /// GETFH: gets the current file handle (RFC 7530 §16.8, RFC 8881 §18.8).
    Getfh = 10,
    /// LINK: adds a name to a file (RFC 7530 §16.9, RFC 8881 §18.9).
    Link = 11,
    /// LOCK: locks a range (RFC 7530 §16.10, RFC 8881 §18.10).
    Lock = 12,
    /// LOCKT: tests for a lock (RFC 7530 §16.11, RFC 8881 §18.11).
    Lockt = 13,
    /// LOCKU: unlocks a range (RFC 7530 §16.12, RFC 8881 §18.12).
    Locku = 14,
    /// LOOKUP: finds a name (RFC 7530 §16.13, RFC 8881 §18.13).
    Lookup = 15,
    /// LOOKUPP: finds the parent directory (RFC 7530 §16.14, RFC 8881 §18.14).
    Lookupp = 16,
    /// NVERIFY: continues if attributes differ (RFC 7530 §16.15, RFC 8881 §18.15).
    Nverify = 17,
    /// OPEN: opens a regular file (RFC 7530 §16.16, RFC 8881 §18.16).
    Open = 18,
    /// OPENATTR: opens the directory of named attributes (RFC 7530 §16.17, RFC 8881 §18.17).
    Openattr = 19,
    /// OPEN_CONFIRM: confirms an owner's first open (RFC 7530 §16.18).
    OpenConfirm = 20,
    /// OPEN_DOWNGRADE: reduces the access and deny modes of an open (RFC 7530 §16.19, RFC 8881 §18.18).
    OpenDowngrade = 21,
    /// PUTFH: sets the current file handle (RFC 7530 §16.20, RFC 8881 §18.19).
    Putfh = 22,
    /// PUTPUBFH: sets the current file handle to the public one (RFC 7530 §16.21, RFC 8881 §18.20).
    Putpubfh = 23,
    /// PUTROOTFH: sets the current file handle to the root (RFC 7530 §16.22, RFC 8881 §18.21).
    Putrootfh = 24,
    /// READ: reads from a file (RFC 7530 §16.23, RFC 8881 §18.22).
    Read = 25,
    /// READDIR: lists a directory (RFC 7530 §16.24, RFC 8881 §18.23).
    Readdir = 26,
    /// READLINK: reads the target of a symbolic link (RFC 7530 §16.25, RFC 8881 §18.24).
    Readlink = 27,
    /// REMOVE: removes a name (RFC 7530 §16.26, RFC 8881 §18.25).
    Remove = 28,
    /// RENAME: moves a name (RFC 7530 §16.27, RFC 8881 §18.26).
    Rename = 29,
    /// RENEW: renews a lease (RFC 7530 §16.28).
    Renew = 30,
    /// RESTOREFH: makes the saved file handle the current one (RFC 7530 §16.29, RFC 8881 §18.27).
    Restorefh = 31,
    /// SAVEFH: saves the current file handle (RFC 7530 §16.30, RFC 8881 §18.28).
    Savefh = 32,
    /// SECINFO: returns the security flavours of a name (RFC 7530 §16.31, RFC 8881 §18.29).
    Secinfo = 33,
    /// SETATTR: sets attributes (RFC 7530 §16.32, RFC 8881 §18.30).
    Setattr = 34,
    /// SETCLIENTID: registers a client (RFC 7530 §16.33).
    Setclientid = 35,
    /// SETCLIENTID_CONFIRM: confirms a client (RFC 7530 §16.34).
    SetclientidConfirm = 36,
    /// VERIFY: continues if attributes are equal (RFC 7530 §16.35, RFC 8881 §18.31).
    Verify = 37,
    /// WRITE: writes to a file (RFC 7530 §16.36, RFC 8881 §18.32).
    Write = 38,
    /// RELEASE_LOCKOWNER: releases a lock owner (RFC 7530 §16.37).
    ReleaseLockowner = 39,
    /// BACKCHANNEL_CTL: changes the callback program and credentials (RFC 8881 §18.33).
    BackchannelCtl = 40,
    /// BIND_CONN_TO_SESSION: binds a connection to a session (RFC 8881 §18.34).
    BindConnToSession = 41,
    /// EXCHANGE_ID: registers a client (RFC 8881 §18.35).
    ExchangeId = 42,
    /// CREATE_SESSION: creates a session and confirms a client (RFC 8881 §18.36).
    CreateSession = 43,
    /// DESTROY_SESSION: ends a session (RFC 8881 §18.37).
    DestroySession = 44,
    /// FREE_STATEID: frees a stateid without locks (RFC 8881 §18.38).
    FreeStateid = 45,
    /// GET_DIR_DELEGATION: requests a directory delegation (RFC 8881 §18.39).
    GetDirDelegation = 46,
    /// GETDEVICEINFO: returns the address of a data server (RFC 8881 §18.40).
    Getdeviceinfo = 47,
    /// GETDEVICELIST: lists data servers (RFC 8881 §18.41).
    Getdevicelist = 48,
    /// LAYOUTCOMMIT: commits data that was written through a layout (RFC 8881 §18.42).
    Layoutcommit = 49,
    /// LAYOUTGET: requests a layout (RFC 8881 §18.43).
    Layoutget = 50,
    /// LAYOUTRETURN: returns a layout (RFC 8881 §18.44).
    Layoutreturn = 51,
    /// SECINFO_NO_NAME: returns the security flavours of a file handle (RFC 8881 §18.45).
    SecinfoNoName = 52,
    /// SEQUENCE: assigns a request to a session slot (RFC 8881 §18.46).
    Sequence = 53,
    /// SET_SSV: changes the secret of a client (RFC 8881 §18.47).
    SetSsv = 54,
    /// TEST_STATEID: tests whether stateids are valid (RFC 8881 §18.48).
    TestStateid = 55,
    /// WANT_DELEGATION: requests a delegation (RFC 8881 §18.49).
    WantDelegation = 56,
    /// DESTROY_CLIENTID: removes a client (RFC 8881 §18.50).
    DestroyClientid = 57,
    /// RECLAIM_COMPLETE: ends reclaiming (RFC 8881 §18.51).
    ReclaimComplete = 58,
    /// ALLOCATE: reserves space (RFC 7862 §15.1).
    Allocate = 59,
    /// COPY: copies a range at the server (RFC 7862 §15.2).
    Copy = 60,
    /// COPY_NOTIFY: permits another server to read for a copy (RFC 7862 §15.3).
    CopyNotify = 61,
    /// DEALLOCATE: punches a hole (RFC 7862 §15.4).
    Deallocate = 62,
    /// IO_ADVISE: announces how a range will be used (RFC 7862 §15.5).
    IoAdvise = 63,
    /// LAYOUTERROR: reports errors of data servers (RFC 7862 §15.6).
    Layouterror = 64,
    /// LAYOUTSTATS: reports the use of data servers (RFC 7862 §15.7).
    Layoutstats = 65,
    /// OFFLOAD_CANCEL: stops a copy (RFC 7862 §15.8).
    OffloadCancel = 66,
    /// OFFLOAD_STATUS: returns the progress of a copy (RFC 7862 §15.9).
    OffloadStatus = 67,
    /// READ_PLUS: reads data and holes (RFC 7862 §15.10).
    ReadPlus = 68,
    /// SEEK: finds the next data or hole (RFC 7862 §15.11).
    Seek = 69,
    /// WRITE_SAME: writes a repeated pattern (RFC 7862 §15.12).
    WriteSame = 70,
    /// CLONE: shares a range between two files (RFC 7862 §15.13).
    Clone = 71,
    /// GETXATTR: gets an extended attribute (RFC 8276 §8.4.1).
    Getxattr = 72,
    /// SETXATTR: sets an extended attribute (RFC 8276 §8.4.2).
    Setxattr = 73,
    /// LISTXATTRS: lists extended attributes (RFC 8276 §8.4.3).
    Listxattrs = 74,
    /// REMOVEXATTR: removes an extended attribute (RFC 8276 §8.4.4).
    Removexattr = 75,
}

/// The number in the reply to an operation that does not exist in the minor version (RFC 7530 §16.38, RFC 8881 §18.52).
pub const OP_ILLEGAL: u32 = 10044;

/// The permitted position of an operation relative to SEQUENCE (RFC 8881 §2.10.6 and §16.2.3).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Sequencing {
    /// It is SEQUENCE, which is always first.
    First,
    /// It follows SEQUENCE; in 4.0 it may be anywhere.
    Behind,
    /// It is the only operation of a COMPOUND, or follows SEQUENCE.
    BehindOrAlone,
    /// It is the only operation of a COMPOUND.
    Alone,
}

/// The RFCs' requirement for servers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Support {
    /// The server must support the operation.
    Required,
    /// The server should support it.
    Recommended,
    /// The server may support it, and otherwise answers NOTSUPP.
    Optional,
}

/// The effect of an operation on the current file handle.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum CurrentHandle {
    /// No effect.
    Keeps,
    /// The operation replaces it.
    Sets,
    /// From 4.1 on, the operation clears it (RFC 8881 §18.29 and §18.45).
    Clears,
}

/// The effect of running an operation once more, when its reply was lost (RFC 7530 §9.1.7, RFC 8881 §2.10.6).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Repetition {
    /// None: it changes nothing, or only the COMPOUND's own state.
    Harmless,
    /// It changes data, or state such as opens and locks, which ends with the server's process.
    Changes,
    /// It changes attributes of a file, over changes that others made in between.
    ChangesAttributes,
    /// It changes names, and fails with EXIST or NOENT the second time.
    ChangesNames,
}

/// The properties of an operation in the RFCs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct OperationInfo {
    /// The operation.
    pub number: OpNumber,
    /// Its name.
    pub name: &'static str,
    /// The first minor version that has it.
    pub first: MinorVersion,
    /// The last minor version that has it; later ones answer NOTSUPP.
    pub last: MinorVersion,
    /// Its permitted position in a COMPOUND with sessions.
    pub sequencing: Sequencing,
    /// The requirement for servers.
    pub support: Support,
    /// Whether it requires a current file handle.
    pub needs_current: bool,
    /// Whether it requires a saved file handle.
    pub needs_saved: bool,
    /// Its effect on the current file handle.
    pub current: CurrentHandle,
    /// The effect of running it again.
    pub repetition: Repetition,
}

/// Whether a number is an operation in a minor version.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Existence {
    /// It is this operation.
    Exists(&'static OperationInfo),
    /// It was an operation in an earlier minor version: the server answers NOTSUPP.
    Removed(&'static OperationInfo),
    /// It is not an operation, or only in a later minor version: the server answers OP_ILLEGAL.
    Illegal,
}

/// The smallest number of an operation.
const FIRST_NUMBER: u32 = OpNumber::Access as u32;

impl OpNumber {
    /// The operation of this number in any minor version, or `None`.
    pub fn from_number(number: u32) -> Option<OpNumber> {
        Some(OperationInfo::of(number)?.number)
    }

    /// The number on the wire.
    pub const fn number(self) -> u32 {
        self as u32
    }

    /// Its properties in the RFCs.
    pub const fn info(self) -> &'static OperationInfo {
        &OPERATIONS[(self as u32 - FIRST_NUMBER) as usize]
    }

    /// Its name in the RFCs.
    pub const fn name(self) -> &'static str {
        self.info().name
    }

    /// The meaning of a number from the wire in a minor version.
    pub fn lookup(number: u32, minor: MinorVersion) -> Existence {
        match OperationInfo::of(number) {
            Some(info) if minor < info.first => Existence::Illegal,
            Some(info) if minor > info.last => Existence::Removed(info),
            Some(info) => Existence::Exists(info),
            None => Existence::Illegal,
        }
    }
}

impl OperationInfo {
    /// The operation of this number in any minor version, if any.
    fn of(number: u32) -> Option<&'static OperationInfo> {
        OPERATIONS.get(number.checked_sub(FIRST_NUMBER)? as usize)
    }

    /// Whether it must follow SEQUENCE in a minor version.
    pub fn needs_session(&self, minor: MinorVersion) -> bool {
        minor.has_sessions() && self.sequencing == Sequencing::Behind
    }

    /// Whether it may be the first operation of a COMPOUND in a minor version.
    pub fn may_be_first(&self, minor: MinorVersion) -> bool {
        !self.needs_session(minor)
    }

    /// Whether it must not run again.
    pub fn is_change(&self) -> bool {
        self.repetition != Repetition::Harmless
    }

    /// Whether it changes files in a way that no seqid of an owner protects in NFSv4.0 (RFC 7530 §9.1.7).
    pub fn is_unnumbered_change(&self) -> bool {
        matches!(self.repetition, Repetition::ChangesAttributes | Repetition::ChangesNames)
    }

    /// Whether it changes attributes: after a restart of the server, it must not overwrite those of others.
    pub fn changes_attributes(&self) -> bool {
        self.repetition == Repetition::ChangesAttributes
    }

    /// Whether attributes of files that were fetched before it are still valid after it. Reads change the time of
    /// access, COMMIT the space, and OFFLOAD_STATUS reports a change that was made meanwhile.
    pub fn keeps_attributes(&self) -> bool {
        use OpNumber as N;
        let is_followed_by_others =
            matches!(self.number, N::Read | N::ReadPlus | N::Readdir | N::Readlink | N::Commit | N::OffloadStatus);
        !self.is_change() && !is_followed_by_others
    }

    const fn new(number: OpNumber, name: &'static str, first: MinorVersion) -> OperationInfo {
        OperationInfo {
            number,
            name,
            first,
            last: MinorVersion::V2,
            sequencing: Sequencing::Behind,
            support: Support::Required,
            needs_current: false,
            needs_saved: false,
            current: CurrentHandle::Keeps,
            repetition: Repetition::Changes,
        }
    }

    const fn harmless(self) -> OperationInfo {
        OperationInfo { repetition: Repetition::Harmless, ..self }
    }

    const fn sets_attributes(self) -> OperationInfo {
        OperationInfo { repetition: Repetition::ChangesAttributes, ..self }
    }

    const fn changes_names(self) -> OperationInfo {
        OperationInfo { repetition: Repetition::ChangesNames, ..self }
    }

    const fn until(self, last: MinorVersion) -> OperationInfo {
        OperationInfo { last, ..self }
    }

    const fn sequencing(self, sequencing: Sequencing) -> OperationInfo {
        OperationInfo { sequencing, ..self }
    }

    const fn optional(self) -> OperationInfo {
        OperationInfo { support: Support::Optional, ..self }
    }

    const fn recommended(self) -> OperationInfo {
        OperationInfo { support: Support::Recommended, ..self }
    }

    const fn on_current(self) -> OperationInfo {
        OperationInfo { needs_current: true, ..self }
    }

    const fn on_saved(self) -> OperationInfo {
        OperationInfo { needs_saved: true, ..self }
    }

    const fn sets_current(self) -> OperationInfo {
        OperationInfo { current: CurrentHandle::Sets, ..self }
    }

    const fn clears_current(self) -> OperationInfo {
        OperationInfo { current: CurrentHandle::Clears, ..self }
    }
}

/// All operations, by number.
pub const OPERATIONS: [OperationInfo; 73] = {
    use MinorVersion::{V0, V1, V2};
    use OpNumber as N;
    use Sequencing::{Alone, BehindOrAlone, First};
    const fn op(number: OpNumber, name: &'static str, first: MinorVersion) -> OperationInfo {
        OperationInfo::new(number, name, first)
    }
    [
        op(N::Access, "ACCESS", V0).on_current().harmless(),
        op(N::Close, "CLOSE", V0).on_current(),
        op(N::Commit, "COMMIT", V0).on_current().harmless(),
        op(N::Create, "CREATE", V0).on_current().sets_current().changes_names(),
        op(N::Delegpurge, "DELEGPURGE", V0).optional(),
        op(N::Delegreturn, "DELEGRETURN", V0).optional().on_current(),
        op(N::Getattr, "GETATTR", V0).on_current().harmless(),
        op(N::Getfh, "GETFH", V0).on_current().harmless(),
        op(N::Link, "LINK", V0).optional().on_current().on_saved().changes_names(),
        op(N::Lock, "LOCK", V0).on_current(),
        op(N::Lockt, "LOCKT", V0).on_current().harmless(),
        op(N::Locku, "LOCKU", V0).on_current(),
        op(N::Lookup, "LOOKUP", V0).on_current().sets_current().harmless(),
        op(N::Lookupp, "LOOKUPP", V0).on_current().sets_current().harmless(),
        op(N::Nverify, "NVERIFY", V0).on_current().harmless(),
        op(N::Open, "OPEN", V0).on_current().sets_current(),
        op(N::Openattr, "OPENATTR", V0).optional().on_current().sets_current(),
        op(N::OpenConfirm, "OPEN_CONFIRM", V0).until(V0).on_current(),
        op(N::OpenDowngrade, "OPEN_DOWNGRADE", V0).on_current(),
        op(N::Putfh, "PUTFH", V0).sets_current().harmless(),
        op(N::Putpubfh, "PUTPUBFH", V0).sets_current().harmless(),
        op(N::Putrootfh, "PUTROOTFH", V0).sets_current().harmless(),
        op(N::Read, "READ", V0).on_current().harmless(),
        op(N::Readdir, "READDIR", V0).on_current().harmless(),
        op(N::Readlink, "READLINK", V0).optional().on_current().harmless(),
        op(N::Remove, "REMOVE", V0).on_current().changes_names(),
        op(N::Rename, "RENAME", V0).on_current().on_saved().changes_names(),
        op(N::Renew, "RENEW", V0).until(V0),
        op(N::Restorefh, "RESTOREFH", V0).on_saved().sets_current().harmless(),
        op(N::Savefh, "SAVEFH", V0).on_current().harmless(),
        op(N::Secinfo, "SECINFO", V0).on_current().clears_current().harmless(),
        op(N::Setattr, "SETATTR", V0).on_current().sets_attributes(),
        op(N::Setclientid, "SETCLIENTID", V0).until(V0),
        op(N::SetclientidConfirm, "SETCLIENTID_CONFIRM", V0).until(V0),
        op(N::Verify, "VERIFY", V0).on_current().harmless(),
        op(N::Write, "WRITE", V0).on_current(),
        op(N::ReleaseLockowner, "RELEASE_LOCKOWNER", V0).until(V0),
        op(N::BackchannelCtl, "BACKCHANNEL_CTL", V1),
        op(N::BindConnToSession, "BIND_CONN_TO_SESSION", V1).sequencing(Alone),
        op(N::ExchangeId, "EXCHANGE_ID", V1).sequencing(BehindOrAlone),
        op(N::CreateSession, "CREATE_SESSION", V1).sequencing(BehindOrAlone),
        op(N::DestroySession, "DESTROY_SESSION", V1).sequencing(BehindOrAlone),
        op(N::FreeStateid, "FREE_STATEID", V1),
        op(N::GetDirDelegation, "GET_DIR_DELEGATION", V1).optional().on_current(),
        op(N::Getdeviceinfo, "GETDEVICEINFO", V1).optional(),
        op(N::Getdevicelist, "GETDEVICELIST", V1).until(V1).optional().on_current(),
        op(N::Layoutcommit, "LAYOUTCOMMIT", V1).optional().on_current(),
        op(N::Layoutget, "LAYOUTGET", V1).optional().on_current(),
        op(N::Layoutreturn, "LAYOUTRETURN", V1).optional().on_current(),
        op(N::SecinfoNoName, "SECINFO_NO_NAME", V1).recommended().on_current().clears_current().harmless(),
        op(N::Sequence, "SEQUENCE", V1).sequencing(First).harmless(),
        op(N::SetSsv, "SET_SSV", V1),
        op(N::TestStateid, "TEST_STATEID", V1).harmless(),
        op(N::WantDelegation, "WANT_DELEGATION", V1).optional().on_current(),
        op(N::DestroyClientid, "DESTROY_CLIENTID", V1).sequencing(BehindOrAlone),
        op(N::ReclaimComplete, "RECLAIM_COMPLETE", V1),
        op(N::Allocate, "ALLOCATE", V2).optional().on_current(),
        op(N::Copy, "COPY", V2).optional().on_current().on_saved(),
        op(N::CopyNotify, "COPY_NOTIFY", V2).optional().on_current(),
        op(N::Deallocate, "DEALLOCATE", V2).optional().on_current(),
        op(N::IoAdvise, "IO_ADVISE", V2).optional().on_current().harmless(),
        op(N::Layouterror, "LAYOUTERROR", V2).optional().on_current(),
        op(N::Layoutstats, "LAYOUTSTATS", V2).optional().on_current(),
        op(N::OffloadCancel, "OFFLOAD_CANCEL", V2).optional().on_current(),
        op(N::OffloadStatus, "OFFLOAD_STATUS", V2).optional().on_current().harmless(),
        op(N::ReadPlus, "READ_PLUS", V2).optional().on_current().harmless(),
        op(N::Seek, "SEEK", V2).optional().on_current().harmless(),
        op(N::WriteSame, "WRITE_SAME", V2).optional().on_current(),
        op(N::Clone, "CLONE", V2).optional().on_current().on_saved(),
        op(N::Getxattr, "GETXATTR", V2).optional().on_current().harmless(),
        op(N::Setxattr, "SETXATTR", V2).optional().on_current().sets_attributes(),
        op(N::Listxattrs, "LISTXATTRS", V2).optional().on_current().harmless(),
        op(N::Removexattr, "REMOVEXATTR", V2).optional().on_current().sets_attributes(),
    ]
};

#[cfg(test)]
mod tests {
    use super::*;
    use MinorVersion::{V0, V1, V2};

    fn exist(minor: MinorVersion) -> usize {
        (0..100).filter(|number| matches!(OpNumber::lookup(*number, minor), Existence::Exists(_))).count()
    }

    #[test]
    fn every_operation_is_at_its_number() {
        for (number, info) in (FIRST_NUMBER..).zip(OPERATIONS) {
            assert_eq!(info.number.number(), number, "{}", info.name);
            assert_eq!(OpNumber::from_number(number), Some(info.number));
            assert_eq!(info.number.info(), &info);
        }
        assert_eq!(OpNumber::from_number(2), None);
        assert_eq!(OpNumber::from_number(76), None);
        assert_eq!(OpNumber::from_number(OP_ILLEGAL), None);
    }

    #[test]
    fn minor_versions_have_as_many_operations_as_their_rfcs_list() {
        assert_eq!((exist(V0), exist(V1), exist(V2)), (37, 32 + 19, 32 + 18 + 13 + 4));
    }

    #[test]
    fn operation_of_a_later_minor_version_is_illegal_and_of_an_earlier_one_removed() {
        assert_eq!(OpNumber::lookup(53, V0), Existence::Illegal);
        assert_eq!(OpNumber::lookup(68, V1), Existence::Illegal);
        assert_eq!(OpNumber::lookup(35, V1), Existence::Removed(OpNumber::Setclientid.info()));
        assert_eq!(OpNumber::lookup(48, V2), Existence::Removed(OpNumber::Getdevicelist.info()));
        assert_eq!(OpNumber::lookup(0, V2), Existence::Illegal);
    }

    #[test]
    fn only_what_makes_or_ends_sessions_is_first_without_sequence() {
        let first: Vec<&str> =
            OPERATIONS.iter().filter(|info| info.last >= V1 && info.may_be_first(V1)).map(|info| info.name).collect();
        let expected = [
            "BIND_CONN_TO_SESSION",
            "EXCHANGE_ID",
            "CREATE_SESSION",
            "DESTROY_SESSION",
            "SEQUENCE",
            "DESTROY_CLIENTID",
        ];
        assert_eq!(first, expected);
        assert!(OPERATIONS.iter().filter(|info| info.first == V0).all(|info| info.may_be_first(V0)));
    }

    fn names_where(is: fn(&OperationInfo) -> bool) -> Vec<&'static str> {
        OPERATIONS.iter().filter(|info| is(info)).map(|info| info.name).collect()
    }

    #[test]
    fn operations_without_an_effect_may_run_again_and_no_others() {
        let harmless = [
            "ACCESS",
            "COMMIT",
            "GETATTR",
            "GETFH",
            "LOCKT",
            "LOOKUP",
            "LOOKUPP",
            "NVERIFY",
            "PUTFH",
            "PUTPUBFH",
            "PUTROOTFH",
            "READ",
            "READDIR",
            "READLINK",
            "RESTOREFH",
            "SAVEFH",
            "SECINFO",
            "VERIFY",
            "SECINFO_NO_NAME",
            "SEQUENCE",
            "TEST_STATEID",
            "IO_ADVISE",
            "OFFLOAD_STATUS",
            "READ_PLUS",
            "SEEK",
            "GETXATTR",
            "LISTXATTRS",
        ];
        assert_eq!(names_where(|info| !info.is_change()), harmless);
    }

    #[test]
    fn changes_of_names_and_attributes_have_no_seqid_in_4_0() {
        let unnumbered = names_where(|info| info.is_unnumbered_change() && info.first == V0);
        assert_eq!(unnumbered, ["CREATE", "LINK", "REMOVE", "RENAME", "SETATTR"]);
        assert_eq!(names_where(OperationInfo::changes_attributes), ["SETATTR", "SETXATTR", "REMOVEXATTR"]);
    }

    #[test]
    fn attributes_stay_valid_after_operations_that_neither_read_data_nor_flush_nor_change() {
        let harmless_and_drops =
            names_where(|info| info.repetition == Repetition::Harmless && !info.keeps_attributes());
        assert_eq!(harmless_and_drops, ["COMMIT", "READ", "READDIR", "READLINK", "OFFLOAD_STATUS", "READ_PLUS"]);
        assert!(OPERATIONS.iter().all(|info| !(info.is_change() && info.keeps_attributes())));
    }
}
