use std::sync::Arc;

use super::survey::{Damage, Survey, newest_header};
use super::{Log, LogError};
use crate::device::Device;
use crate::hex::hex;

impl Log {
    /// Opens the log in a device, with all durable records. An interrupted write marks the end of the log.
    ///
    /// This reads the whole device, to distinguish an interrupted write from later damage.
    ///
    /// # Errors
    ///
    /// - [`LogError::Blank`] when there is no log, and [`Log::create`] may create one.
    /// - [`LogError::Damaged`] when durable records are lost.
    /// - Others when there is other data, or the device fails.
    pub fn open(device: Arc<dyn Device>) -> Result<Log, LogError> {
        let survey = Survey::make(device)?;
        if let Some(&Damage { from_bytes, to_bytes }) = survey.damages.first() {
            return Err(LogError::Damaged { path: survey.ring.path(), from_bytes, to_bytes });
        }
        if survey.has_damaged_header {
            tracing::warn!(
                path = %survey.ring.path().display(),
                "one header of the log is damaged: records that were trimmed last may be read again"
            );
        }
        if survey.has_torn_end {
            tracing::warn!(
                path = %survey.ring.path().display(),
                "the last batch of the log is incomplete, and is left out: its write was interrupted before it was \
                 acknowledged, or the device has lost or changed it since"
            );
        }
        Ok(Log::new(survey.ring, survey.header, survey.kept))
    }

    /// The log's random id and its owner's description, if a header is whole, whatever is damaged behind it.
    pub(crate) fn identity(device: &dyn Device) -> Option<(String, Vec<u8>)> {
        let (header, _) = newest_header(device).ok()?;
        Some((hex(&header.id.0), header.owner))
    }
}
