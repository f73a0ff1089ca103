use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;

use crate::{ClientsError, DurationError, Origin, PathReason, Position, SizeError};

/// Why a configuration is refused.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// A file cannot be read.
    #[error("{}: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// A file is too large for a configuration.
    #[error("{}: has more than {max_bytes} bytes, too many for a configuration file", path.display())]
    TooLarge {
        /// The file.
        path: PathBuf,
        /// The limit.
        max_bytes: u64,
    },
    /// A part of the configuration is wrong.
    #[error("{origin}: {reason}")]
    Bad {
        /// Where it was said.
        origin: Origin,
        /// Why it is wrong.
        #[source]
        reason: Reason,
    },
    /// Nothing is exported.
    #[error("{}: nothing is exported; an export is a line such as `/srv *(ro)`, or in TOML `[[export]]` with a `path`",
        path.display())]
    NoExports {
        /// The file that has none.
        path: PathBuf,
    },
    /// An export without a client list would be offered to other machines.
    #[error(
        "other machines can reach {address}, but {export} ({origin}) names no clients: add --client NETWORK (for \
         example --client 10.0.0.0/8), or --client '*' for all clients; in a file, name the export's clients"
    )]
    Exposed {
        /// The address.
        address: SocketAddr,
        /// The export's name.
        export: String,
        /// Where the export is configured.
        origin: Origin,
    },
}

impl ConfigError {
    /// Its place in a file, if it has one.
    pub(crate) fn position(&self) -> Option<Position> {
        match self {
            ConfigError::Bad { origin: Origin::File { position, .. }, .. } => Some(*position),
            _ => None,
        }
    }

    /// Whether an argument of the command line is wrong.
    pub fn is_of_arguments(&self) -> bool {
        matches!(self, ConfigError::Bad { origin: Origin::Argument(_), .. })
    }

    /// An error at `origin`.
    pub(crate) fn at(origin: Origin, reason: impl Into<Reason>) -> ConfigError {
        ConfigError::Bad { origin, reason: reason.into() }
    }
}

/// Why a part of a configuration is wrong.
#[derive(Debug, thiserror::Error)]
pub enum Reason {
    /// The file is not UTF-8.
    #[error("not UTF-8")]
    NotUtf8,
    /// The TOML cannot be parsed, or a value in it is of the wrong type or out of range.
    #[error("{0}")]
    Toml(String),
    /// A name is unknown.
    #[error("unknown {what} `{name}`{}", instead(.nearest.as_deref(), .choices))]
    Unknown {
        /// What kind of thing was expected.
        what: &'static str,
        /// The name.
        name: String,
        /// The most similar known name.
        nearest: Option<String>,
        /// What is known, if these are few.
        choices: Vec<String>,
    },
    /// The path or name is not valid for an export.
    #[error(transparent)]
    Path(#[from] PathReason),
    /// A list of clients is wrong.
    #[error(transparent)]
    Clients(#[from] ClientsError),
    /// A size is wrong.
    #[error(transparent)]
    Size(#[from] SizeError),
    /// A time is wrong.
    #[error(transparent)]
    Duration(#[from] DurationError),
    /// An export has none, or more than one, of `path`, `memory` and `url`.
    #[error("an export requires one of `path`, `memory` and `url`")]
    NoSource,
    /// An export in memory has no name.
    #[error("an export in memory requires a `name`, such as \"/mem\"")]
    Nameless,
    /// An option is known, but not supported.
    #[error("the option `{option}` is refused: {why}")]
    Refused {
        /// The option.
        option: String,
        /// Why.
        why: &'static str,
    },
    /// The value of an option is missing or wrong.
    #[error("`{option}` requires {wanted}")]
    Value {
        /// The option.
        option: String,
        /// What it requires.
        wanted: &'static str,
    },
    /// A quote does not end on its line.
    #[error("the quote that begins here does not end on its line")]
    OpenQuote,
    /// A list of options does not end.
    #[error("the list of options has no closing parenthesis; it must not contain spaces")]
    OpenParenthesis,
    /// Something follows a list of options without a space.
    #[error("a space or the end of the line must follow the closing parenthesis")]
    AfterParenthesis,
    /// A space separates a list of options from its client.
    #[error(
        "a list of options without a client; remove the space before the parenthesis, or write `*` before it for all \
         clients"
    )]
    DetachedOptions,
    /// An option is missing.
    #[error("an option is missing here")]
    EmptyOption,
    /// One client is named twice for one export.
    #[error("{client} is named twice for {export}")]
    DuplicateClient {
        /// The client.
        client: String,
        /// The export.
        export: String,
    },
    /// One argument is given twice.
    #[error("given twice")]
    Twice,
    /// The scheme of a URL is not one that can be exported.
    #[error("`{0}` is not a scheme that Wharf serves; write a directory, mem:SIZE or nfs://host/path")]
    Scheme(String),
    /// Two exports have one name.
    #[error("{name} is already exported by {first}")]
    DuplicateName {
        /// The name.
        name: String,
        /// Where it was first.
        first: Origin,
    },
    /// Two exports, or two clients of one export, disagree about an fsid.
    #[error("{owner} already has the fsid {fsid}; each export must have its own")]
    DuplicateFsid {
        /// The number.
        fsid: u64,
        /// The export that has it.
        owner: String,
    },
    /// One export has two numbers.
    #[error("{export} already has the fsid {first}; an export has one fsid for all clients")]
    TwoFsids {
        /// The export.
        export: String,
        /// Its number.
        first: u64,
    },
}

/// What to write instead of an unknown name.
fn instead(nearest: Option<&str>, choices: &[String]) -> String {
    match (nearest, choices) {
        (Some(name), _) => format!("; did you mean `{name}`?"),
        (None, []) => String::new(),
        (None, choices) => format!("; write one of {}", choices.join(", ")),
    }
}
