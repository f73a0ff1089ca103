//! The extended attributes of one file, in byte order of their names.

use std::collections::BTreeMap;

use vfs::{Error, FileKind, Result, SetXattr, XattrMode, XattrName};

use crate::node::MemNode;
use crate::space::Supply;

/// The longest value, in bytes, as in Linux.
const MAX_VALUE_BYTES: usize = 65_536;

/// The maximum size of all names and values of a file, in bytes.
const MAX_BYTES: u64 = 128 << 10;

/// The attributes of one file. Their owner returns [`Xattrs::used_bytes`] to the supply that they were taken from.
#[derive(Debug, Default)]
pub(crate) struct Xattrs {
    values: BTreeMap<Box<[u8]>, Box<[u8]>>,
    used_bytes: u64,
}

impl Xattrs {
    pub(crate) fn used_bytes(&self) -> u64 {
        self.used_bytes
    }

    pub(crate) fn get(&self, name: XattrName<'_>) -> Option<&[u8]> {
        self.values.get(name.as_bytes()).map(AsRef::as_ref)
    }

    pub(crate) fn names(&self) -> Vec<Box<[u8]>> {
        self.values.keys().cloned().collect()
    }

    fn set(&mut self, set: &SetXattr<'_>, supply: &Supply) -> Result<()> {
        let before = self.get(set.name).map(|value| size_bytes(set.name, value));
        match (set.mode, before) {
            (XattrMode::Create, Some(_)) => return Err(Error::Exists),
            (XattrMode::Replace, None) => return Err(Error::NoEntry),
            _ if set.value.len() > MAX_VALUE_BYTES => return Err(Error::FileTooBig),
            _ => {}
        }
        let (before, after) = (before.unwrap_or(0), size_bytes(set.name, set.value));
        if self.used_bytes - before + after > MAX_BYTES {
            return Err(Error::NoSpace);
        }
        supply.take(after)?;
        supply.give_back(before);
        self.used_bytes = self.used_bytes - before + after;
        self.values.insert(set.name.as_bytes().into(), set.value.into());
        Ok(())
    }

    fn remove(&mut self, name: XattrName<'_>, supply: &Supply) -> Result<()> {
        let value = self.values.remove(name.as_bytes()).ok_or(Error::NoEntry)?;
        let bytes = size_bytes(name, &value);
        self.used_bytes -= bytes;
        supply.give_back(bytes);
        Ok(())
    }
}

/// What an attribute takes.
fn size_bytes(name: XattrName<'_>, value: &[u8]) -> u64 {
    (name.as_bytes().len() + value.len()) as u64
}

impl MemNode {
    /// Refuses files other than regular files and directories.
    pub(crate) fn check_xattrs(&self) -> Result<()> {
        match self.kind() {
            FileKind::Regular | FileKind::Directory => Ok(()),
            _ => Err(Error::WrongKind),
        }
    }

    pub(crate) fn set_xattr(&self, set: &SetXattr<'_>) -> Result<()> {
        self.check_xattrs()?;
        let mut state = self.write();
        state.xattrs.set(set, self.volume().bytes())?;
        state.touch(self.volume().now());
        Ok(())
    }

    pub(crate) fn remove_xattr(&self, name: XattrName<'_>) -> Result<()> {
        self.check_xattrs()?;
        let mut state = self.write();
        state.xattrs.remove(name, self.volume().bytes())?;
        state.touch(self.volume().now());
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn either<'a>(name: &'a [u8], value: &'a [u8]) -> SetXattr<'a> {
        SetXattr { name: XattrName::new(name).unwrap(), value, mode: XattrMode::Either }
    }

    #[test]
    fn attributes_take_from_the_supply_and_give_back() {
        let (mut xattrs, supply) = (Xattrs::default(), Supply::new(100));
        xattrs.set(&either(b"name", &[1; 50]), &supply).unwrap();
        assert_eq!((supply.free(), xattrs.used_bytes()), (46, 54));
        assert!(matches!(xattrs.set(&either(b"more", &[1; 50]), &supply), Err(Error::NoSpace)));
        xattrs.set(&either(b"name", &[2; 10]), &supply).unwrap();
        assert_eq!((supply.free(), xattrs.used_bytes()), (86, 14));
        xattrs.remove(XattrName::new(b"name").unwrap(), &supply).unwrap();
        assert_eq!((supply.free(), xattrs.used_bytes()), (100, 0));
    }

    #[test]
    fn attributes_of_one_file_are_bounded() {
        let (mut xattrs, supply) = (Xattrs::default(), Supply::new(1 << 30));
        assert!(matches!(xattrs.set(&either(b"big", &[0; MAX_VALUE_BYTES + 1]), &supply), Err(Error::FileTooBig)));
        xattrs.set(&either(b"one", &[0; MAX_VALUE_BYTES]), &supply).unwrap();
        assert!(matches!(xattrs.set(&either(b"two", &[0; MAX_VALUE_BYTES]), &supply), Err(Error::NoSpace)));
    }
}
