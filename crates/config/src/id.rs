use serde::Deserialize;

/// Why a value is not the number of a user or group.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum IdError {
    /// It is not a number.
    #[error("{0:?} is not a number; `id {0}` shows the numbers of a user")]
    Malformed(String),
    /// It is -1, for which chown(2) changes nothing.
    #[error("4294967295 (-1) is no user and no group; choose another number")]
    None,
}

/// The number of a user or group.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(try_from = "u32")]
pub(crate) struct Id(pub(crate) u32);

impl TryFrom<u32> for Id {
    type Error = IdError;

    fn try_from(number: u32) -> Result<Id, IdError> {
        if number == u32::MAX { Err(IdError::None) } else { Ok(Id(number)) }
    }
}

/// Reads the number of a user or group.
///
/// # Errors
/// When it is none.
pub fn parse_id(text: &str) -> Result<u32, IdError> {
    let number = text.parse::<u32>().map_err(|_| IdError::Malformed(text.to_owned()))?;
    Ok(Id::try_from(number)?.0)
}
