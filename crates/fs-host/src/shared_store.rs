//! One store for all views of an export in this process. When another directory takes the place of an exported one, or
//! an option changes, the new view opens while the old one still serves, and each file goes on having one number.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use crate::store::{Store, StoreError};

/// The stores that are open, by their files.
static OPEN: Mutex<Vec<(PathBuf, Weak<Store>)>> = Mutex::new(Vec::new());

/// The store in `file`, which is opened for the export at this path unless it is open already.
pub(crate) fn open(file: &Path, export: &[u8]) -> Result<Arc<Store>, StoreError> {
    let mut stores = OPEN.lock().unwrap_or_else(PoisonError::into_inner);
    stores.retain(|(_, store)| store.strong_count() > 0);
    if let Some(store) = stores.iter().find(|(path, _)| path == file).and_then(|(_, store)| store.upgrade()) {
        return Ok(store);
    }
    let store = Arc::new(Store::open(file, export)?);
    stores.push((file.to_path_buf(), Arc::downgrade(&store)));
    Ok(store)
}
