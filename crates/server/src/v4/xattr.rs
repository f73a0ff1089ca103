//! The common part of the operations on extended attributes (RFC 8276 §8.4).

use proto::nfs4::{Component, Status};
use vfs::{Access, Error, FileKind, XattrName, XattrNameError};

use super::compound::Compound;
use super::failure::{Failure, OpResult};
use crate::node::Node;

/// The current file, if it can have extended attributes and the caller has the `wanted` access.
pub(super) fn node<'n>(compound: &'n Compound<'_>, wanted: Access) -> OpResult<Node<'n>> {
    match any_node(compound, wanted)? {
        (node, true) => Ok(node),
        (_, false) => Err(Status::WrongType.into()),
    }
}

/// The current file, if the caller has the `wanted` access, and whether its kind can have extended attributes.
pub(super) fn any_node<'n>(compound: &'n Compound<'_>, wanted: Access) -> OpResult<(Node<'n>, bool)> {
    let node = compound.current()?;
    if !node.properties().xattrs {
        return Err(Status::NotSupp.into());
    }
    if wanted == Access::WRITE {
        node.require_writable()?;
    }
    let attributes = node.attributes()?;
    node.require(&attributes, wanted)?;
    Ok((node, matches!(attributes.kind, FileKind::Regular | FileKind::Directory)))
}

/// The name in the arguments.
pub(super) fn name<'a>(name: Component<'a>) -> OpResult<XattrName<'a>> {
    XattrName::new(name.0).map_err(|error| match error {
        XattrNameError::Empty => Status::Inval.into(),
        XattrNameError::TooLong => Status::NameTooLong.into(),
        XattrNameError::BadByte => Status::BadChar.into(),
    })
}

/// The status for a change that the file system refused (§8.4.2.3, §8.4.4.3).
pub(super) fn refused(error: Error) -> Failure {
    match error {
        Error::NoEntry => Status::NoXattr.into(),
        Error::FileTooBig => Status::Xattr2Big.into(),
        error => error.into(),
    }
}
