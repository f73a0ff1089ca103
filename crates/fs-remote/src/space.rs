use client_files::Version;
use proto::nfs4::MinorVersion;
use vfs::{Context, Handle, Properties, Result, Space};

use super::shared::Shared;

pub(super) fn space(shared: &Shared, cx: &Context<'_>, node: &Handle) -> Result<Space> {
    let known = shared.handles.find(node)?;
    shared.wait(cx, shared.mount_for(cx).fsstat(&known.handle))
}

/// Properties known since the mount; limits of names are requested at the first call.
pub(super) fn properties(shared: &Shared) -> Properties {
    let info = shared.mount.info();
    let mut properties = Properties {
        max_file_bytes: info.max_file_bytes,
        time_step_ns: u32::try_from(info.time_step_ns).unwrap_or(u32::MAX),
        hard_links: info.has_hard_links,
        symlinks: info.has_symlinks,
        homogeneous: info.is_homogeneous,
        times_can_be_set: info.can_set_times,
        locks: true,
        // Before NFSv4 nothing is opened at the server.
        checks_opens: shared.mount.version() >= Version::V4(MinorVersion::V0),
        xattrs: shared.mount.version() >= Version::V4(MinorVersion::V2),
        ..Properties::default()
    };
    if let Some(limits) = limits(shared) {
        properties.max_name_bytes = limits.max_name_bytes;
        properties.max_links = limits.max_links;
        properties.case_insensitive = limits.case_insensitive;
        properties.case_preserving = limits.case_preserving;
    }
    properties
}

/// Requested once, on the first thread that may block; NFSv2 has no such limits.
fn limits(shared: &Shared) -> Option<&client_files::PathLimits> {
    if shared.limits.get().is_none()
        && shared.mount.version() != Version::V2
        && let Ok(limits) = shared.wait(&Context::ROOT, shared.mount.pathconf(&shared.mount.root().handle))
    {
        // Another thread may have set it before.
        let _ = shared.limits.set(limits);
    }
    shared.limits.get()
}
