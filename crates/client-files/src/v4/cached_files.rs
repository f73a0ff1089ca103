use std::fmt::Debug;
use std::future::Future;
use std::pin::Pin;

use vfs::Attributes;

use super::opening::Target;
use crate::Handle;

/// The data and attributes that a mount caches, as far as its client needs them. It keeps the client from knowing
/// mounts.
pub(crate) trait CachedFiles: Debug + Send + Sync {
    /// Writes a file's dirty data, and waits until that is done or has failed.
    fn write_back<'a>(&'a self, file: &'a Handle) -> Pin<Box<dyn Future<Output = ()> + Send + 'a>>;

    /// The length of a file including dirty data, or `None` if it has none.
    fn unwritten_size(&self, file: &Handle) -> Option<u64>;

    /// Invalidates a name under which a file may have been made, and the file, when the caller of the open is gone.
    fn outdate_opened(&self, target: &Target, file: Option<&Handle>);

    /// The attributes of a file as last learned, unless this client has changed it since.
    fn last_attributes(&self, file: &Handle) -> Option<Attributes>;
}
