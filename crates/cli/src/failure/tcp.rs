use std::path::PathBuf;

/// Why a TCP command has no figures, or only some.
#[derive(Debug, thiserror::Error)]
pub enum TcpError {
    /// A capture cannot be read to its end.
    #[error("{}: {source}", path.display())]
    Trace {
        /// The capture.
        path: PathBuf,
        /// Why not.
        source: segments::trace::Error,
    },
    /// A stream was not completed.
    #[error(transparent)]
    Stream(segments::user::Error),
    /// A test between two kernels was not completed.
    #[error(transparent)]
    Kernel(segments::kernel::Error),
    /// A test over a wire was not completed.
    #[error(transparent)]
    Wire(segments::link::Failure),
    /// Several streams would be captured to the same file.
    #[error("--capture takes one stream: give one --rule, and run the command once for each")]
    SeveralCaptures,
    /// A mistake of ours.
    #[error("the thread of the run has ended early; this is a bug in wharf, please report it")]
    Died,
    /// The receiver got wrong data.
    #[error("{count} received bytes differ from those sent; this is a bug in wharf, please report it")]
    WrongBytes {
        /// How many.
        count: u64,
    },
    /// A chart cannot be drawn.
    #[error(transparent)]
    Chart(#[from] report::ChartError),
}
