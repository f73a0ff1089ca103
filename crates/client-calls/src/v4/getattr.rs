//! GETATTR of a file, of its file system and of the server.

use proto::nfs4::{ArgOp, Attribute, AttributeValue, Bitmap, Getattr, GetattrArgs, Putfh};
use vfs::{Attributes, Space};

use super::attributes;
use super::caller::Caller;
use super::putfh::putfh;
use super::reply::Reply;
use super::request::Request;
use crate::{FsInfo, Handle, PathLimits, Result};

/// The attributes of a file (RFC 7530 §16.7, RFC 8881 §18.7).
pub async fn getattr(caller: &impl Caller, file: &Handle) -> Result<Attributes> {
    let reply = ask(caller, file, "GETATTR", attributes::ALL).await?;
    let mut results = reply.results();
    results.ok::<Putfh, _>()?;
    attributes::neutral(&results.ok::<Getattr, _>()?).map_err(|reason| reply.error(reason))
}

async fn ask(caller: &impl Caller, file: &Handle, name: &'static str, request: Bitmap) -> Result<Reply> {
    let operations = [putfh(file), ArgOp::Getattr(GetattrArgs { request })];
    caller.call(&Request::reading(name, &operations)).await
}

/// Requests attributes and passes each to `take`.
async fn each(
    caller: &impl Caller,
    file: &Handle,
    name: &'static str,
    wanted: &[Attribute],
    mut take: impl FnMut(AttributeValue<'_>),
) -> Result<()> {
    let reply = ask(caller, file, name, Attribute::set(wanted)).await?;
    let mut results = reply.results();
    results.ok::<Putfh, _>()?;
    for value in results.ok::<Getattr, _>()?.values() {
        take(value.map_err(|error| reply.error(attributes::bad(error)))?);
    }
    Ok(())
}

/// What the file system and the server support. Attributes that the server does not report get common values.
pub async fn fsinfo(caller: &impl Caller, root: &Handle) -> Result<FsInfo> {
    let wanted = [
        Attribute::LinkSupport,
        Attribute::SymlinkSupport,
        Attribute::CanSetTime,
        Attribute::Homogeneous,
        Attribute::MaxFileSize,
        Attribute::MaxRead,
        Attribute::MaxWrite,
        Attribute::TimeDelta,
    ];
    let (most_read, most_write) = caller.most_data();
    let mut info = FsInfo::UNKNOWN;
    let whole = |bytes: u64| u32::try_from(bytes).unwrap_or(u32::MAX);
    each(caller, root, "FSINFO", &wanted, |value| match value {
        AttributeValue::LinkSupport(has) => info.has_hard_links = has,
        AttributeValue::SymlinkSupport(has) => info.has_symlinks = has,
        AttributeValue::CanSetTime(can) => info.can_set_times = can,
        AttributeValue::Homogeneous(is) => info.is_homogeneous = is,
        AttributeValue::MaxFileSize(bytes) => info.max_file_bytes = bytes,
        AttributeValue::MaxRead(bytes) => info.read_max = whole(bytes),
        AttributeValue::MaxWrite(bytes) => info.write_max = whole(bytes),
        AttributeValue::TimeDelta(step) => {
            let seconds = u64::try_from(step.seconds).unwrap_or(0);
            info.time_step_ns = seconds.saturating_mul(1_000_000_000).saturating_add(step.nanoseconds.into());
        }
        _ => {}
    })
    .await?;
    (info.read_max, info.write_max) = (info.read_max.min(most_read), info.write_max.min(most_write));
    (info.read_preferred, info.write_preferred) = (info.read_max, info.write_max);
    Ok(info)
}

/// The space and the file counts of the file system of `file`.
pub async fn fsstat(caller: &impl Caller, file: &Handle) -> Result<Space> {
    let wanted = [
        Attribute::FilesAvail,
        Attribute::FilesFree,
        Attribute::FilesTotal,
        Attribute::SpaceAvail,
        Attribute::SpaceFree,
        Attribute::SpaceTotal,
    ];
    let mut space = Space::default();
    each(caller, file, "FSSTAT", &wanted, |value| match value {
        AttributeValue::FilesAvail(count) => space.available_files = count,
        AttributeValue::FilesFree(count) => space.free_files = count,
        AttributeValue::FilesTotal(count) => space.total_files = count,
        AttributeValue::SpaceAvail(bytes) => space.available_bytes = bytes,
        AttributeValue::SpaceFree(bytes) => space.free_bytes = bytes,
        AttributeValue::SpaceTotal(bytes) => space.total_bytes = bytes,
        _ => {}
    })
    .await?;
    Ok(space)
}

/// The limits of names and links. Attributes that the server does not report get common values.
pub async fn pathconf(caller: &impl Caller, file: &Handle) -> Result<PathLimits> {
    let wanted = [
        Attribute::CaseInsensitive,
        Attribute::CasePreserving,
        Attribute::ChownRestricted,
        Attribute::MaxLink,
        Attribute::MaxName,
        Attribute::NoTrunc,
    ];
    let mut limits = PathLimits {
        max_links: u32::MAX,
        max_name_bytes: vfs::Name::MAX_BYTES as u32,
        no_truncation: true,
        chown_restricted: true,
        case_insensitive: false,
        case_preserving: true,
    };
    each(caller, file, "PATHCONF", &wanted, |value| match value {
        AttributeValue::CaseInsensitive(is) => limits.case_insensitive = is,
        AttributeValue::CasePreserving(is) => limits.case_preserving = is,
        AttributeValue::ChownRestricted(is) => limits.chown_restricted = is,
        AttributeValue::MaxLink(links) => limits.max_links = links,
        AttributeValue::MaxName(bytes) => limits.max_name_bytes = bytes,
        AttributeValue::NoTrunc(is) => limits.no_truncation = is,
        _ => {}
    })
    .await?;
    Ok(limits)
}
