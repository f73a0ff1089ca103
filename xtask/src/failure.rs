use std::path::PathBuf;

/// Why a command failed; what was found in detail is on the terminal by then.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// A program cannot be run.
    #[error("cannot run {program}: {source}")]
    Spawn { program: String, source: std::io::Error },
    /// A program failed.
    #[error("failed: {0}")]
    Command(String),
    /// A file cannot be read or written.
    #[error("{}: {source}", path.display())]
    File { path: PathBuf, source: std::io::Error },
    /// A source file is no Rust.
    #[error("{}: {source}", path.display())]
    Syntax { path: PathBuf, source: syn::Error },
    /// A pattern of a word is wrong.
    #[error(transparent)]
    Pattern(regex::Error),
    /// What `cargo metadata` says is not understood.
    #[error("cargo metadata: {0}")]
    Metadata(#[from] serde_json::Error),
    /// What is recorded of the server's cost is not understood.
    #[error("{file}: {source}")]
    Bounds { file: &'static str, source: serde_json::Error },
    /// Rules are broken.
    #[error("{count} {what}")]
    Broken { count: usize, what: &'static str },
    /// A command's option is wrong.
    #[error("{0}")]
    Usage(String),
    /// A server does not start.
    #[error("{0}")]
    Server(String),
    /// Tests failed.
    #[error("tests failed")]
    Tests,
}

/// What the commands return.
pub type Outcome<T = ()> = Result<T, Failure>;
