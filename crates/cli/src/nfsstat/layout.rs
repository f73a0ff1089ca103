//! The tables of FreeBSD's nfsstat(1), release 15, with the same columns and meaning.

use std::fmt::Write;

use client::{CacheCounters, HeldState, HitsMisses, Statistics};

/// The width of a column in characters; longer names are truncated, longer numbers are not.
const WIDTH: usize = 13;

/// A column: its name, and the procedures that it counts.
type Column = (&'static str, &'static [&'static str]);

/// Which tables there are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Extent {
    /// NFSv2 and NFSv3 (`nfsstat -c`).
    Basic,
    /// Also NFSv4.0 (`nfsstat -c -e`).
    V4,
    /// Also NFSv4.1 and NFSv4.2 (`nfsstat -c -E`).
    V42,
}

/// READ_PLUS counts as READ, which it can replace. FreeBSD's client does not use it.
const READ: Column = ("Read", &["READ", "READ_PLUS"]);
/// NFSv2 calls it STATFS.
const FSSTAT: Column = ("Fsstat", &["FSSTAT", "STATFS"]);

const BASIC: [&[Column]; 3] = [
    &[
        ("Getattr", &["GETATTR"]),
        ("Setattr", &["SETATTR"]),
        ("Lookup", &["LOOKUP"]),
        ("Readlink", &["READLINK"]),
        READ,
        ("Write", &["WRITE"]),
        ("Create", &["CREATE"]),
        ("Remove", &["REMOVE"]),
    ],
    &[
        ("Rename", &["RENAME"]),
        ("Link", &["LINK"]),
        ("Symlink", &["SYMLINK"]),
        ("Mkdir", &["MKDIR"]),
        ("Rmdir", &["RMDIR"]),
        ("Readdir", &["READDIR"]),
        ("RdirPlus", &["READDIRPLUS"]),
        ("Access", &["ACCESS"]),
    ],
    &[("Mknod", &["MKNOD"]), FSSTAT, ("Fsinfo", &["FSINFO"]), ("PathConf", &["PATHCONF"]), ("Commit", &["COMMIT"])],
];

const V4: [&[Column]; 5] = [
    &[
        ("Getattr", &["GETATTR"]),
        ("Setattr", &["SETATTR"]),
        ("Lookup", &["LOOKUP"]),
        ("Readlink", &["READLINK"]),
        READ,
        ("Write", &["WRITE"]),
    ],
    &[
        ("Create", &["CREATE"]),
        ("Remove", &["REMOVE"]),
        ("Rename", &["RENAME"]),
        ("Link", &["LINK"]),
        ("Symlink", &["SYMLINK"]),
        ("Mkdir", &["MKDIR"]),
    ],
    &[
        ("Rmdir", &["RMDIR"]),
        ("Readdir", &["READDIR"]),
        ("RdirPlus", &["READDIRPLUS"]),
        ("Access", &["ACCESS"]),
        ("Mknod", &["MKNOD"]),
        FSSTAT,
    ],
    &[
        ("FSinfo", &["FSINFO"]),
        ("pathConf", &["PATHCONF"]),
        ("Commit", &["COMMIT"]),
        ("SetClId", &["SETCLIENTID"]),
        ("SetClIdCf", &["SETCLIENTID_CONFIRM"]),
        ("Lock", &["LOCK"]),
    ],
    &[("LockT", &["LOCKT"]), ("LockU", &["LOCKU"]), ("Open", &["OPEN"]), ("OpenCfr", &["OPEN_CONFIRM"])],
];

/// Columns without procedures are for pNFS, access lists, or operations that FreeBSD combines in one COMPOUND and this
/// client does not.
const V41_AND_V42: [&[Column]; 7] = [
    &[("OpenDownGr", &["OPEN_DOWNGRADE"]), ("Close", &["CLOSE"])],
    &[
        ("RelLckOwn", &["RELEASE_LOCKOWNER"]),
        ("FreeStateID", &["FREE_STATEID"]),
        ("PutRootFH", &["PUTROOTFH"]),
        ("DelegRet", &["DELEGRETURN"]),
        ("GetAcl", &[]),
        ("SetAcl", &[]),
    ],
    &[
        ("ExchangeId", &["EXCHANGE_ID"]),
        ("CreateSess", &["CREATE_SESSION"]),
        ("DestroySess", &["DESTROY_SESSION"]),
        ("DestroyClId", &["DESTROY_CLIENTID"]),
        ("LayoutGet", &[]),
        ("GetDevInfo", &[]),
    ],
    &[
        ("LayoutCommit", &[]),
        ("LayoutReturn", &[]),
        ("ReclaimCompl", &["RECLAIM_COMPLETE"]),
        ("ReadDataS", &[]),
        ("WriteDataS", &[]),
        ("CommitDataS", &[]),
    ],
    &[
        ("OpenLayout", &[]),
        ("CreateLayout", &[]),
        ("BindConnSess", &["BIND_CONN_TO_SESSION"]),
        ("LookupOpen", &[]),
        ("AppendWrite", &[]),
    ],
    &[
        ("IOAdvise", &["IO_ADVISE"]),
        ("Allocate", &["ALLOCATE"]),
        ("Copy", &["COPY"]),
        ("Seek", &["SEEK"]),
        ("SeekDataS", &[]),
        ("GetExtattr", &["GETXATTR"]),
    ],
    &[
        ("SetExtattr", &["SETXATTR"]),
        ("RmExtattr", &["REMOVEXATTR"]),
        ("ListExtattr", &["LISTXATTRS"]),
        ("Deallocate", &["DEALLOCATE"]),
        ("LayoutError", &[]),
    ],
];

/// The tables, without titles if `is_quiet` (FreeBSD's `-q`).
pub fn text(statistics: &Statistics, extent: Extent, is_quiet: bool) -> String {
    let title = |title: &'static str| if is_quiet { "" } else { title };
    let mut text = title("Client Info:\n").to_owned();
    let counts =
        |(_, procedures): &Column| procedures.iter().map(|name| statistics.calls(name)).fold(0, u64::saturating_add);
    let mut table = |title: &str, rows: &[&[Column]]| {
        text.push_str(title);
        for row in rows {
            let columns: Vec<(&str, u64)> = row.iter().map(|column| (column.0, counts(column))).collect();
            put(&mut text, &columns);
        }
    };
    match extent {
        Extent::Basic => table(title("Rpc Counts:\n"), &BASIC),
        Extent::V4 | Extent::V42 => table(title("RPC Counts:\n"), &V4),
    }
    if extent == Extent::V42 {
        table("", &V41_AND_V42);
    }
    if extent != Extent::Basic {
        text.push_str(title("Client:\n"));
        held_columns(&statistics.held).chunks(6).for_each(|row| put(&mut text, row));
    }
    let rpc = &statistics.rpc;
    text.push_str(title("Rpc Info:\n"));
    put(
        &mut text,
        &[
            ("TimedOut", rpc.timeouts),
            ("Invalid", rpc.invalid),
            ("X Replies", rpc.unexpected),
            ("Retries", rpc.retransmissions),
            ("Requests", rpc.calls),
        ],
    );
    text.push_str(title("Cache Info:\n"));
    let caches = cache_columns(&statistics.caches);
    let columns_per_row = if extent == Extent::Basic { 8 } else { 4 };
    caches.chunks(columns_per_row).for_each(|row| put(&mut text, row));
    text
}

/// The state held; layouts belong to pNFS, which this client does not have.
fn held_columns(held: &HeldState) -> [(&'static str, u64); 10] {
    [
        ("OpenOwner", held.open_owners),
        ("Opens", held.opens),
        ("LockOwner", held.lock_owners),
        ("Locks", held.locks),
        ("Delegs", held.delegations),
        ("LocalOwn", held.local_open_owners),
        ("LocalOpen", held.local_opens),
        ("LocalLown", held.local_lock_owners),
        ("LocalLock", held.local_locks),
        ("Layouts", 0),
    ]
}

fn cache_columns(caches: &CacheCounters) -> Vec<(&'static str, u64)> {
    let of = |hits, misses, both: HitsMisses| [(hits, both.hits), (misses, both.misses)];
    [
        of("Attr Hits", "Attr Misses", caches.attributes),
        of("Lkup Hits", "Lkup Misses", caches.names),
        of("BioR Hits", "BioR Misses", caches.block_reads),
        of("BioW Hits", "BioW Misses", caches.block_writes),
        of("BioRL Hits", "BioRL Misses", caches.symlinks),
        of("BioD Hits", "BioD Misses", caches.directory_blocks),
        of("DirE Hits", "DirE Misses", caches.directory_entries),
        of("Accs Hits", "Accs Misses", caches.access),
    ]
    .concat()
}

/// Appends a line of names and a line of numbers.
fn put(text: &mut String, columns: &[(&str, u64)]) {
    // A String takes everything.
    for (name, _) in columns {
        let _ = write!(text, "{name:>WIDTH$.WIDTH$}");
    }
    text.push('\n');
    for (_, number) in columns {
        let _ = write!(text, "{number:>WIDTH$}");
    }
    text.push('\n');
}

#[cfg(test)]
mod tests {
    use client::{Procedure, ProcedureStatistics};

    use super::*;

    fn statistics(calls: &[(u32, &str, u64)]) -> Statistics {
        let mut statistics = Statistics::default();
        for (version, name, calls) in calls {
            let mut all = Procedure::all();
            let procedure = all.find(|found| (found.version(), found.name()) == (Some(*version), name)).unwrap();
            statistics.add_procedure(procedure, &ProcedureStatistics { calls: *calls, ..Default::default() });
            statistics.rpc.calls += calls;
        }
        statistics
    }

    #[test]
    fn tables_are_laid_out_as_those_of_nfsstat_c() {
        let mut of_reads = statistics(&[(3, "GETATTR", 1), (3, "LOOKUP", 1), (3, "READ", 256_000), (3, "ACCESS", 1)]);
        of_reads.caches.attributes = HitsMisses { hits: 4_096_006, misses: 1 };
        of_reads.caches.names = HitsMisses { hits: 2, misses: 1 };
        of_reads.caches.block_reads = HitsMisses { hits: 3_840_000, misses: 256_000 };
        of_reads.caches.access = HitsMisses { hits: 3, misses: 1 };
        let expected = "\
Client Info:
Rpc Counts:
      Getattr      Setattr       Lookup     Readlink         Read        Write       Create       Remove
            1            0            1            0       256000            0            0            0
       Rename         Link      Symlink        Mkdir        Rmdir      Readdir     RdirPlus       Access
            0            0            0            0            0            0            0            1
        Mknod       Fsstat       Fsinfo     PathConf       Commit
            0            0            0            0            0
Rpc Info:
     TimedOut      Invalid    X Replies      Retries     Requests
            0            0            0            0       256003
Cache Info:
    Attr Hits  Attr Misses    Lkup Hits  Lkup Misses    BioR Hits  BioR Misses    BioW Hits  BioW Misses
      4096006            1            2            1      3840000       256000            0            0
   BioRL Hits BioRL Misses    BioD Hits  BioD Misses    DirE Hits  DirE Misses    Accs Hits  Accs Misses
            0            0            0            0            0            0            3            1
";
        assert_eq!(text(&of_reads, Extent::Basic, false), expected);
        assert_eq!(text(&of_reads, Extent::Basic, true), without_titles(expected));
    }

    #[test]
    fn tables_of_nfsv4_are_laid_out_as_those_of_nfsstat_e() {
        let mut calls =
            statistics(&[(4, "SETCLIENTID", 1), (4, "SETCLIENTID_CONFIRM", 2), (4, "LOCKU", 3), (4, "OPEN", 4)]);
        calls.held = HeldState { opens: 5, delegations: 6, local_locks: 7, ..HeldState::default() };
        let expected = "\
Client Info:
RPC Counts:
      Getattr      Setattr       Lookup     Readlink         Read        Write
            0            0            0            0            0            0
       Create       Remove       Rename         Link      Symlink        Mkdir
            0            0            0            0            0            0
        Rmdir      Readdir     RdirPlus       Access        Mknod       Fsstat
            0            0            0            0            0            0
       FSinfo     pathConf       Commit      SetClId    SetClIdCf         Lock
            0            0            0            1            2            0
        LockT        LockU         Open      OpenCfr
            0            3            4            0
Client:
    OpenOwner        Opens    LockOwner        Locks       Delegs     LocalOwn
            0            5            0            0            6            0
    LocalOpen    LocalLown    LocalLock      Layouts
            0            0            7            0
Rpc Info:
     TimedOut      Invalid    X Replies      Retries     Requests
            0            0            0            0           10
Cache Info:
    Attr Hits  Attr Misses    Lkup Hits  Lkup Misses
            0            0            0            0
    BioR Hits  BioR Misses    BioW Hits  BioW Misses
            0            0            0            0
   BioRL Hits BioRL Misses    BioD Hits  BioD Misses
            0            0            0            0
    DirE Hits  DirE Misses    Accs Hits  Accs Misses
            0            0            0            0
";
        assert_eq!(text(&calls, Extent::V4, false), expected);
        assert_eq!(text(&calls, Extent::V4, true), without_titles(expected));
    }

    fn without_titles(text: &str) -> String {
        text.lines().filter(|line| !line.ends_with(':')).map(|line| format!("{line}\n")).collect()
    }

    #[test]
    fn newer_minor_versions_have_rows_of_their_own() {
        let calls = statistics(&[
            (4, "EXCHANGE_ID", 1),
            (4, "CLOSE", 7),
            (4, "SEEK", 9),
            (4, "LISTXATTRS", 8),
            (4, "DEALLOCATE", 6),
            (4, "BIND_CONN_TO_SESSION", 5),
        ]);
        let found = text(&calls, Extent::V42, false);
        let rows = "\
   OpenDownGr        Close
            0            7
    RelLckOwn  FreeStateID    PutRootFH     DelegRet       GetAcl       SetAcl
            0            0            0            0            0            0
   ExchangeId   CreateSess  DestroySess  DestroyClId    LayoutGet   GetDevInfo
            1            0            0            0            0            0
 LayoutCommit LayoutReturn ReclaimCompl    ReadDataS   WriteDataS  CommitDataS
            0            0            0            0            0            0
   OpenLayout CreateLayout BindConnSess   LookupOpen  AppendWrite
            0            0            5            0            0
     IOAdvise     Allocate         Copy         Seek    SeekDataS   GetExtattr
            0            0            0            9            0            0
   SetExtattr    RmExtattr  ListExtattr   Deallocate  LayoutError
            0            0            8            6            0
Client:
    OpenOwner        Opens    LockOwner        Locks       Delegs     LocalOwn
";
        assert!(found.contains(rows), "{found}");
    }

    #[test]
    fn every_name_in_the_tables_is_a_procedure_of_the_client() {
        let known: Vec<&str> = Procedure::all().map(Procedure::name).collect();
        for column in BASIC.iter().chain(&V4).chain(&V41_AND_V42).copied().flatten() {
            assert!(column.1.iter().all(|name| known.contains(name)), "{column:?}");
        }
    }

    #[test]
    fn older_names_and_newer_operations_are_counted_where_they_belong() {
        let found = text(
            &statistics(&[(2, "STATFS", 5), (4, "FSSTAT", 6), (4, "READ_PLUS", 2), (3, "READ", 1)]),
            Extent::Basic,
            false,
        );
        assert!(found.contains(&format!("{:>13}{:>13}\n", 0, 11)[..26]), "{found}");
        assert!(found.lines().nth(3).unwrap().split_whitespace().nth(4) == Some("3"), "{found}");
    }
}
