use std::path::PathBuf;

/// Why a command on TCP has no figures, or only some.
#[derive(Debug, thiserror::Error)]
pub enum TcpError {
    /// A capture cannot be read, or not to its end.
    #[error("{}: {source}", path.display())]
    Trace {
        /// The capture.
        path: PathBuf,
        /// Why not.
        source: segments::trace::Error,
    },
    /// A chart cannot be drawn.
    #[error(transparent)]
    Chart(#[from] report::ChartError),
}
