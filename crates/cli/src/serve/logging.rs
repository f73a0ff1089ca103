//! Logs to standard error, which the service manager or the terminal shows.

use std::env;
use std::ffi::OsStr;
use std::io::{self, IsTerminal};

use config::{LogFormat, LogLevel, LogSettings};
use tracing::level_filters::LevelFilter;

/// Starts to log.
pub fn start(settings: LogSettings) {
    let has_colours =
        io::stderr().is_terminal() && wants_colours(env::var_os("NO_COLOR").as_deref(), env::var_os("TERM").as_deref());
    let builder = tracing_subscriber::fmt()
        .with_writer(io::stderr)
        .with_ansi(has_colours)
        .with_max_level(filter(settings.level.unwrap_or(LogLevel::Info)))
        .with_target(false);
    match settings.format.unwrap_or(LogFormat::Text) {
        LogFormat::Text => builder.init(),
        LogFormat::Json => builder.json().flatten_event(true).init(),
    }
}

/// Whether a terminal is to show colours: NO_COLOR that is not empty turns them off (no-color.org), and a dumb terminal
/// has none.
fn wants_colours(no_color: Option<&OsStr>, term: Option<&OsStr>) -> bool {
    no_color.is_none_or(OsStr::is_empty) && term.is_none_or(|term| term != "dumb")
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_color_and_a_dumb_terminal_turn_colours_off() {
        let wants =
            |no_color: Option<&str>, term: Option<&str>| wants_colours(no_color.map(OsStr::new), term.map(OsStr::new));
        assert!(wants(None, None) && wants(None, Some("xterm")) && wants(Some(""), Some("xterm")));
        assert!(!wants(Some("1"), Some("xterm")) && !wants(Some("0"), None) && !wants(None, Some("dumb")));
    }
}
