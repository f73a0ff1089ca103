use std::str::FromStr;

use super::Settings;

/// Validated options, as written.
#[derive(Debug, Clone)]
pub struct OptionList(String);

impl OptionList {
    /// As they were written.
    pub fn text(&self) -> &str {
        &self.0
    }
}

impl FromStr for OptionList {
    type Err = OptionError;

    fn from_str(text: &str) -> Result<OptionList, OptionError> {
        Settings::default().apply(text)?;
        Ok(OptionList(text.to_owned()))
    }
}

/// Why an option is wrong.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum OptionError {
    /// The option is unknown.
    #[error("unknown option '{0}'; wharf mount --help lists all options, and sloppy ignores unknown ones")]
    Unknown(String),
    /// The option is not supported.
    #[error("option '{name}' is not supported: {reason}")]
    Refused {
        /// The option.
        name: String,
        /// Why.
        reason: &'static str,
    },
    /// It requires a value.
    #[error("option '{0}' requires a value: write {0}=VALUE")]
    NoValue(String),
    /// It takes no value.
    #[error("option '{0}' takes no value")]
    HasValue(String),
    /// The value is invalid.
    #[error("invalid value '{value}' of option '{name}': {expected}")]
    Value {
        /// The option.
        name: String,
        /// The value.
        value: String,
        /// What there can be.
        expected: &'static str,
    },
}
