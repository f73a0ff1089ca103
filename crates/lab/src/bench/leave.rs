use client::{Mount, Version};

/// Lets a server of NFSv4 forget the client, which older ones do not remember.
pub(super) async fn leave(mount: &Mount) {
    if matches!(mount.version(), Version::V4(_)) {
        // It forgets a silent client by itself.
        let _ = mount.clone().unmount().await;
    }
}
