/// Why a benchmark has no figures, or some that cannot be trusted.
#[derive(Debug, thiserror::Error)]
pub enum BenchError {
    /// It could not be done.
    #[error(transparent)]
    Lab(#[from] lab::bench::Error),
    /// The experiment with ways to send replies could not be done.
    #[error(transparent)]
    ReplyPath(lab::reply_path::Error),
    /// The experiment with ways to read ahead could not be done.
    #[error(transparent)]
    ReadAhead(lab::read_ahead::Error),
    /// Operations failed; this is the first.
    #[error("operations failed: {0}")]
    Operation(#[source] lab::bench::OperationError),
    /// The figures cannot be written as JSON.
    #[error("cannot write the figures: {0}")]
    Json(#[source] serde_json::Error),
}
