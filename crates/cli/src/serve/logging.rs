//! Logs to standard error, which the service manager or the terminal shows.

use std::io::{self, IsTerminal};

use config::{LogFormat, LogLevel, LogSettings};
use tracing::level_filters::LevelFilter;

/// Starts to log.
pub fn start(settings: LogSettings) {
    let builder = tracing_subscriber::fmt()
        .with_writer(io::stderr)
        .with_ansi(io::stderr().is_terminal())
        .with_max_level(filter(settings.level.unwrap_or(LogLevel::Info)))
        .with_target(false);
    match settings.format.unwrap_or(LogFormat::Text) {
        LogFormat::Text => builder.init(),
        LogFormat::Json => builder.json().flatten_event(true).init(),
    }
}

fn filter(level: LogLevel) -> LevelFilter {
    match level {
        LogLevel::Error => LevelFilter::ERROR,
        LogLevel::Warn => LevelFilter::WARN,
        LogLevel::Info => LevelFilter::INFO,
        LogLevel::Debug => LevelFilter::DEBUG,
        LogLevel::Trace => LevelFilter::TRACE,
    }
}
