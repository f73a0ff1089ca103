//! Making files of every kind (all versions of the protocol).

use vfs::{Attributes, CreateMode, Entry, Error, FileKind, NewNode, Place, SetAttributes};

use crate::fault::Fault;
use crate::node::Node;
use crate::set_attributes;

/// Makes something new called `name` in `dir`, whose attributes are these, with `make`, if the caller may add names there.
pub(crate) fn make(
    dir: &Node<'_>,
    dir_attributes: vfs::Result<Attributes>,
    name: &[u8],
    make: impl FnOnce(&Node<'_>, Place<'_>) -> Result<Entry, Fault>,
) -> Result<Entry, Fault> {
    dir.require_changeable(dir_attributes)?;
    let place = dir.place(name)?;
    match make(dir, place) {
        // What is there may have been made by this very call, before the server was killed.
        Err(Fault::File(Error::Exists)) if dir.may_have_happened => Ok(dir.fs().lookup(&dir.context, place)?),
        result => result,
    }
}

/// Makes a regular file with the attributes `set`, which the caller must be allowed to give. One that exists is taken as it
/// is, but for its size, which the caller must be allowed to set.
pub(crate) fn unchecked(dir: &Node<'_>, place: Place<'_>, set: &SetAttributes) -> Result<Entry, Fault> {
    // Of a file that exists only the size is set, whatever else is asked for.
    let made = match set_attributes::check_new(set, &dir.context.caller) {
        Ok(()) => dir.fs().create(&dir.context, place, CreateMode::Guarded, set),
        Err(error) => dir.existing(place)?.map_or(Err(error), |_| Err(Error::Exists)),
    };
    match made {
        // An unchecked create would cut the file without asking whether the caller may.
        Err(Error::Exists) => take_existing(dir, dir.fs().lookup(&dir.context, place)?, set.size_bytes),
        result => Ok(result?),
    }
}

/// Makes a regular file, or finds it there as `mode` says.
pub(crate) fn regular(dir: &Node<'_>, place: Place<'_>, mode: CreateMode, set: &SetAttributes) -> Result<Entry, Fault> {
    set_attributes::check_new(set, &dir.context.caller)?;
    Ok(dir.fs().create(&dir.context, place, mode, set)?)
}

/// Makes anything but a regular file.
pub(crate) fn node(dir: &Node<'_>, place: Place<'_>, node: NewNode<'_>, set: &SetAttributes) -> Result<Entry, Fault> {
    if let NewNode::Symlink(target) = node
        && (target.is_empty() || target.contains(&0))
    {
        return Err(Error::Invalid.into());
    }
    set_attributes::check_new(set, &dir.context.caller)?;
    Ok(dir.fs().make_node(&dir.context, place, node, set)?)
}

fn take_existing(dir: &Node<'_>, existing: Entry, size_bytes: Option<u64>) -> Result<Entry, Fault> {
    if existing.attributes.kind != FileKind::Regular {
        return Err(Error::Exists.into());
    }
    let (file, set) = (dir.sibling(existing.handle), SetAttributes { size_bytes, ..SetAttributes::default() });
    file.require_unreserved_for(&set)?;
    let attributes = set_attributes::set(&file, &existing.attributes, &set)?;
    Ok(Entry { attributes, ..existing })
}
