use client_calls::DirChange;
use vfs::{CreateMode, SetAttributes, SetTime};

use super::changes::setattr;
use super::client::Client;
use super::opening::{Opening, Share, Target};
use crate::{Entry, Handle, Result};

/// Creates a regular file with OPEN and closes it.
pub(crate) async fn create(
    client: &Client,
    dir: &Handle,
    name: &[u8],
    mode: CreateMode,
    set: &SetAttributes,
) -> Result<(Entry, DirChange)> {
    let target = Target::Name { dir: *dir, name: name.to_vec() };
    let opened = client.open(Opening { target, share: Share::WRITE, create: Some((mode, *set)) }).await?;
    let mut entry = opened.entry;
    opened.file.close().await?;
    // An exclusive OPEN may store its verifier in the times, and sets few attributes: set them now.
    if matches!(mode, CreateMode::Exclusive(_)) {
        let now = Some(SetTime::Now);
        let set = SetAttributes { accessed: set.accessed.or(now), modified: set.modified.or(now), ..*set };
        entry.attributes = setattr(client, &entry.handle, &set).await?;
    }
    Ok((entry, opened.dir_change))
}
