use proto::nfs4::OpNumber;
use proto::rpcbind::portmap;
use proto::{Operation, mount, nfs2, nfs3, nfs4, nlm, rpcbind};

use crate::Version;

/// How a call is counted: as a procedure of NFSv2 or NFSv3, as the main operation of an NFSv4 COMPOUND, or as a
/// procedure of another program that a mount needs.
///
/// If NFSv4 replaced a procedure of older versions by another operation, the COMPOUND is counted under the procedure's
/// name: MKDIR, SYMLINK, MKNOD, RMDIR, READDIRPLUS, FSSTAT, FSINFO and PATHCONF.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Procedure(u8);

/// The first number of each version's procedures.
const V2: u8 = 0;
const V3: u8 = V2 + nfs2::PROCEDURES.len() as u8;
const V4: u8 = V3 + nfs3::PROCEDURES.len() as u8;
/// The first number of older versions' procedures in NFSv4, behind its own operations.
const V4_OLDER: u8 = V4 + Procedure::OPERATIONS as u8;
/// The first numbers of other programs' procedures. Their versions count together, because they follow from that of
/// NFS.
const MOUNT: u8 = V4_OLDER + OLDER.len() as u8;
const NLM: u8 = MOUNT + mount::PROCEDURES.len() as u8;
const PORTMAP: u8 = NLM + nlm::PROCEDURES.len() as u8;
const RPCBIND: u8 = PORTMAP + portmap::PROCEDURES.len() as u8;
const OTHER: u8 = RPCBIND + rpcbind::PROCEDURES.len() as u8;

/// Names of older procedures that NFSv4 replaced, with the operations that do it.
const OLDER: [(&str, OpNumber); 8] = [
    ("MKDIR", OpNumber::Create),
    ("SYMLINK", OpNumber::Create),
    ("MKNOD", OpNumber::Create),
    ("RMDIR", OpNumber::Remove),
    ("FSSTAT", OpNumber::Getattr),
    ("FSINFO", OpNumber::Getattr),
    ("PATHCONF", OpNumber::Getattr),
    ("READDIRPLUS", OpNumber::Readdir),
];

impl Procedure {
    /// How many procedures there are.
    pub(super) const COUNT: usize = OTHER as usize + 1;
    /// How many numbers of operations NFSv4 has, including unused ones.
    pub(super) const OPERATIONS: usize = OpNumber::Removexattr as usize + 1;
    /// A procedure of an unknown program.
    pub const OTHER: Procedure = Procedure(OTHER);

    /// The procedure of a known program, except NFSv4's COMPOUND; everything else is [`Procedure::OTHER`].
    pub(crate) const fn of<O: Operation>() -> Procedure {
        let (first, count) = match (O::PROGRAM, O::VERSION) {
            (nfs2::PROGRAM, nfs2::VERSION) => (V2, nfs2::PROCEDURES.len()),
            (nfs3::PROGRAM, nfs3::VERSION) => (V3, nfs3::PROCEDURES.len()),
            (nfs4::PROGRAM, nfs4::VERSION) => (V4, 1),
            (mount::PROGRAM, _) => (MOUNT, mount::PROCEDURES.len()),
            (nlm::PROGRAM, _) => (NLM, nlm::PROCEDURES.len()),
            (portmap::PROGRAM, 2) => (PORTMAP, portmap::PROCEDURES.len()),
            (rpcbind::PROGRAM, _) => (RPCBIND, rpcbind::PROCEDURES.len()),
            _ => (OTHER, 0),
        };
        if (O::PROCEDURE as usize) < count { Procedure(first + O::PROCEDURE as u8) } else { Procedure(OTHER) }
    }

    /// The procedure of a COMPOUND with this main operation that errors call by this name.
    pub(crate) fn of_compound(number: u8, name: &str) -> Procedure {
        if matches!(number, CREATE | REMOVE | GETATTR | READDIR)
            && let Some(older) = OLDER.iter().position(|(older, by)| *by as u8 == number && *older == name)
        {
            return Procedure(V4_OLDER + older as u8);
        }
        if usize::from(number) < Self::OPERATIONS { Procedure(V4 + number) } else { Procedure::OTHER }
    }

    /// All procedures that have a name.
    pub fn all() -> impl Iterator<Item = Procedure> {
        (0..=OTHER).map(Procedure).filter(|procedure| !procedure.name().is_empty())
    }

    /// The procedure with this name in a program; `version` is for NFS only.
    pub fn named(program: &str, version: Option<u32>, name: &str) -> Option<Procedure> {
        let names = |procedure: &Procedure| (procedure.program(), procedure.version(), procedure.name());
        Procedure::all().find(|procedure| names(procedure) == (program, version, name))
    }

    /// The program: `NFS`, `MOUNT`, `NLM` (the lock manager), `PORTMAP` (rpcbind's version 2), `RPCBIND`, or `OTHER`.
    pub fn program(self) -> &'static str {
        match self.0 {
            ..MOUNT => "NFS",
            MOUNT..NLM => "MOUNT",
            NLM..PORTMAP => "NLM",
            PORTMAP..RPCBIND => "PORTMAP",
            RPCBIND..OTHER => "RPCBIND",
            _ => "OTHER",
        }
    }

    /// The version of NFS, without the minor version; `None` for other programs.
    pub fn version(self) -> Option<u32> {
        Some(match self.0 {
            ..V3 => Version::V2.number(),
            V3..V4 => Version::V3.number(),
            V4..MOUNT => Version::V4_0.number(),
            _ => return None,
        })
    }

    /// The name, as the RFCs write it.
    pub fn name(self) -> &'static str {
        let place = usize::from(self.0);
        match self.0 {
            ..V3 => nfs2::PROCEDURES[place],
            V3..V4 => nfs3::PROCEDURES[place - usize::from(V3)],
            V4..V4_OLDER => match u32::from(self.0 - V4) {
                0 => "NULL",
                number => OpNumber::from_number(number).map_or("", OpNumber::name),
            },
            V4_OLDER..MOUNT => OLDER[place - usize::from(V4_OLDER)].0,
            MOUNT..NLM => mount::PROCEDURES[place - usize::from(MOUNT)],
            NLM..PORTMAP => nlm::PROCEDURES[place - usize::from(NLM)].unwrap_or(""),
            PORTMAP..RPCBIND => portmap::PROCEDURES[place - usize::from(PORTMAP)],
            RPCBIND..OTHER => rpcbind::PROCEDURES[place - usize::from(RPCBIND)],
            _ => "OTHER",
        }
    }

    /// Where its results have their status, which is 0 for success.
    pub(super) fn status_place(self) -> StatusPlace {
        const MNT: u8 = MOUNT + 1;
        match self.0 {
            V2 | V3 | V4 | MOUNT | NLM => StatusPlace::None,
            ..=MNT => StatusPlace::First,
            NLM..PORTMAP => StatusPlace::BehindCookie,
            _ => StatusPlace::None,
        }
    }

    pub(super) fn place(self) -> usize {
        usize::from(self.0)
    }

    pub(super) fn at(place: usize) -> Procedure {
        Procedure(place.min(Self::COUNT - 1) as u8)
    }
}

/// Where results have their status.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum StatusPlace {
    /// They have none.
    None,
    First,
    /// Behind an opaque cookie, as in all results of the lock manager.
    BehindCookie,
}

const CREATE: u8 = OpNumber::Create as u8;
const REMOVE: u8 = OpNumber::Remove as u8;
const GETATTR: u8 = OpNumber::Getattr as u8;
const READDIR: u8 = OpNumber::Readdir as u8;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn procedure_has_its_version_and_its_name() {
        for (procedure, version, name) in [
            (Procedure::of::<nfs2::Read>(), Some(2), "READ"),
            (Procedure::of::<nfs3::Null>(), Some(3), "NULL"),
            (Procedure::of::<nfs3::Commit>(), Some(3), "COMMIT"),
            (Procedure::of::<nfs4::Null>(), Some(4), "NULL"),
            (Procedure::of_compound(OpNumber::Read as u8, "READ"), Some(4), "READ"),
            (Procedure::of_compound(OpNumber::Removexattr as u8, "REMOVEXATTR"), Some(4), "REMOVEXATTR"),
            (Procedure::of_compound(CREATE, "MKDIR"), Some(4), "MKDIR"),
            (Procedure::of_compound(CREATE, "CREATE"), Some(4), "CREATE"),
            (Procedure::of_compound(REMOVE, "RMDIR"), Some(4), "RMDIR"),
            (Procedure::of_compound(READDIR, "READDIRPLUS"), Some(4), "READDIRPLUS"),
            (Procedure::of_compound(200, "x"), None, "OTHER"),
        ] {
            assert_eq!((procedure.version(), procedure.name()), (version, name));
            assert_eq!(Procedure::named(procedure.program(), version, name), Some(procedure));
        }
    }

    #[test]
    fn procedures_of_other_programs_have_names_and_statuses_of_their_own() {
        use StatusPlace::{BehindCookie, First, None};
        for (procedure, program, name, status) in [
            (Procedure::of::<mount::Mnt<1>>(), "MOUNT", "MNT", First),
            (Procedure::of::<mount::Mnt3>(), "MOUNT", "MNT", First),
            (Procedure::of::<mount::Umnt<3>>(), "MOUNT", "UMNT", None),
            (Procedure::of::<nlm::Lock<nlm::V4>>(), "NLM", "LOCK", BehindCookie),
            (Procedure::of::<nlm::Null<nlm::V1>>(), "NLM", "NULL", None),
            (Procedure::of::<portmap::Getport>(), "PORTMAP", "GETPORT", None),
            (Procedure::of::<rpcbind::Getaddr<4>>(), "RPCBIND", "GETADDR", None),
            (Procedure::OTHER, "OTHER", "OTHER", None),
        ] {
            assert_eq!((procedure.program(), procedure.name(), procedure.version()), (program, name, Option::None));
            assert_eq!(procedure.status_place(), status, "{program} {name}");
            assert_eq!(Procedure::named(program, Option::None, name), Some(procedure));
        }
    }

    #[test]
    fn no_two_procedures_of_a_program_and_version_have_one_name() {
        let mut seen = std::collections::HashSet::new();
        assert!(Procedure::all().all(|procedure| seen.insert((
            procedure.program(),
            procedure.version(),
            procedure.name()
        ))));
        assert!(seen.len() > 18 + 22 + 70);
    }
}
