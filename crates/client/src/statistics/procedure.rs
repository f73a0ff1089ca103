use proto::nfs4::OpNumber;
use proto::{Operation, nfs2, nfs3, nfs4};

use crate::Version;

/// What a call is counted as: a procedure of NFSv2 or NFSv3, or what a COMPOUND of NFSv4 is about.
///
/// A COMPOUND is counted under its main operation. Where older versions have a procedure of their own for what NFSv4 does
/// by another operation, it is counted under that procedure's name: MKDIR, SYMLINK, MKNOD, RMDIR, READDIRPLUS, FSSTAT,
/// FSINFO and PATHCONF.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Procedure(u8);

/// Where each version's procedures begin.
const V2: u8 = 0;
const V3: u8 = V2 + nfs2::PROCEDURES.len() as u8;
const V4: u8 = V3 + nfs3::PROCEDURES.len() as u8;
/// Where NFSv4's procedures of older versions begin: behind its own operations.
const V4_OLDER: u8 = V4 + Procedure::OPERATIONS as u8;
const OTHER: u8 = V4_OLDER + OLDER.len() as u8;

/// What NFSv4 does by other operations, under the names of older versions, with the operations that do it.
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
    /// How many numbers of operations NFSv4 has, with those that are none.
    pub(super) const OPERATIONS: usize = OpNumber::Removexattr as usize + 1;
    /// A procedure of another program.
    pub const OTHER: Procedure = Procedure(OTHER);

    /// The procedure of NFSv2 or NFSv3, or NULL of NFSv4; everything else is [`Procedure::OTHER`].
    pub(crate) const fn of<O: Operation>() -> Procedure {
        let number = O::PROCEDURE as u8;
        match (O::PROGRAM, O::VERSION) {
            (nfs2::PROGRAM, nfs2::VERSION) if O::PROCEDURE < nfs2::PROCEDURES.len() as u32 => Procedure(V2 + number),
            (nfs3::PROGRAM, nfs3::VERSION) if O::PROCEDURE < nfs3::PROCEDURES.len() as u32 => Procedure(V3 + number),
            (nfs4::PROGRAM, nfs4::VERSION) if O::PROCEDURE == 0 => Procedure(V4),
            _ => Procedure(OTHER),
        }
    }

    /// What a COMPOUND is about whose main operation has this number and which errors call by this name.
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

    /// The procedure with this name in a version of NFS, without that of the minor version.
    pub fn named(version: Option<u32>, name: &str) -> Option<Procedure> {
        Procedure::all().find(|procedure| procedure.version() == version && procedure.name() == name)
    }

    /// The version of NFS, without that of the minor version; `None` for other programs.
    pub fn version(self) -> Option<u32> {
        Some(match self.0 {
            ..V3 => Version::V2.number(),
            V3..V4 => Version::V3.number(),
            V4..OTHER => Version::V4_0.number(),
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
            V4_OLDER..OTHER => OLDER[place - usize::from(V4_OLDER)].0,
            _ => "OTHER",
        }
    }

    /// Whether its results begin with a status of NFS.
    pub(super) fn has_status(self) -> bool {
        !matches!(self.0, V2 | V3 | V4 | OTHER)
    }

    pub(super) fn place(self) -> usize {
        usize::from(self.0)
    }

    pub(super) fn at(place: usize) -> Procedure {
        Procedure(place.min(Self::COUNT - 1) as u8)
    }
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
            (Procedure::of::<proto::mount::Mnt3>(), None, "OTHER"),
        ] {
            assert_eq!((procedure.version(), procedure.name()), (version, name));
            assert_eq!(Procedure::named(version, name), Some(procedure));
        }
    }

    #[test]
    fn no_two_procedures_of_a_version_have_one_name() {
        let mut seen = std::collections::HashSet::new();
        assert!(Procedure::all().all(|procedure| seen.insert((procedure.version(), procedure.name()))));
        assert!(seen.len() > 18 + 22 + 70);
    }
}
