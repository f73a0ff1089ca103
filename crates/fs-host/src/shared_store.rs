//! One store for all views of an export in this process. When another directory takes the place of an exported one, or
//! an option changes, the new view opens while the old one still serves, and each file goes on having one number.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use own_files::OwnDir;

use crate::store::{Store, StoreError, numbers_name};

/// The stores that are open, by their files.
static OPEN: Mutex<Vec<(PathBuf, Weak<Store>)>> = Mutex::new(Vec::new());

/// The store `stem` in `dir`, which is opened for the export at this path unless it is open already.
pub(crate) fn open(dir: &OwnDir, stem: &str, export: &[u8]) -> Result<Arc<Store>, StoreError> {
    let file = dir.path().join(numbers_name(stem));
    let mut stores = OPEN.lock().unwrap_or_else(PoisonError::into_inner);
    stores.retain(|(_, store)| store.strong_count() > 0);
    if let Some(store) = stores.iter().find(|(path, _)| *path == file).and_then(|(_, store)| store.upgrade()) {
        return Ok(store);
    }
    let store = Arc::new(Store::open(dir, stem, export)?);
    stores.push((file, Arc::downgrade(&store)));
    Ok(store)
}
