//! Files in replies whose handles or attributes the server may leave out (RFC 1813 §2.6), and which are then asked for.

use super::attributes;
use super::getattr::getattr;
use crate::connection::Connection;
use crate::{Entry, Handle, Result};

/// A file with its attributes, which are fetched if the server left them out.
pub(super) async fn entry(connection: &Connection, handle: Handle, found: proto::nfs3::PostOpAttr) -> Result<Entry> {
    let attributes = match found {
        Some(found) => attributes::neutral(&found),
        None => getattr(connection, &handle).await?,
    };
    Ok(Entry { handle, attributes })
}
