/// A set of ways to use a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Access(u8);

impl Access {
    /// No way at all.
    pub const NONE: Access = Access(0);
    /// Read the bytes, or list the names.
    pub const READ: Access = Access(4);
    /// Change the bytes, or the names.
    pub const WRITE: Access = Access(2);
    /// Run the file, or look up a name.
    pub const EXECUTE: Access = Access(1);
    /// All three.
    pub const ALL: Access = Access(7);

    /// Makes a set of the three low bits of `bits`, in the order `rwx`.
    pub fn from_mode_bits(bits: u32) -> Access {
        Access((bits & 7) as u8)
    }

    /// The set as the three low bits `rwx`.
    pub fn mode_bits(self) -> u32 {
        self.0.into()
    }

    /// Whether everything in `other` is in this set.
    pub fn contains(self, other: Access) -> bool {
        self.0 & other.0 == other.0
    }
}

impl std::ops::BitOr for Access {
    type Output = Access;
    fn bitor(self, other: Access) -> Access {
        Access(self.0 | other.0)
    }
}

impl std::ops::BitAnd for Access {
    type Output = Access;
    fn bitand(self, other: Access) -> Access {
        Access(self.0 & other.0)
    }
}
