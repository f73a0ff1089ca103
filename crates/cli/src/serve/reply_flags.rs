use std::num::NonZero;

use clap::{Args, ValueEnum};
use config::{ReplyError, ReplyMethod, ReplySettings};
use daemon::Options;
use net::SendPath;

/// How replies to READ are built and sent over TCP. The defaults are the fastest measured.
#[derive(Debug, Args)]
#[command(next_help_heading = "Replies to READ")]
pub struct ReplyFlags {
    /// How data gets into a reply: `copy` reads it and copies once more, `gather` sends it from the buffer it was read
    /// to, `sendfile` also leaves large reads in the file (--sendfile). For measurements. [default: sendfile]
    #[arg(long, value_name = "METHOD")]
    reply_method: Option<MethodFlag>,
    /// Split replies into segments of this size, at least 1K, or `whole`. For measurements. [default: whole]
    #[arg(long, value_name = "SIZE", value_parser = parse_fragment)]
    reply_fragment: Option<Fragment>,
    /// Maximum number of segments of one reply, 1 to 1024, or `none`. A reply with more is first copied into one, and
    /// each reply has a send of its own, as with a network card's limit. For measurements. [default: none]
    #[arg(long, value_name = "COUNT", value_parser = parse_segments)]
    reply_segments: Option<Segments>,
    /// Process and answer each request on its own instead of all requests of one receive together. For measurements.
    #[arg(long)]
    no_batching: bool,
}

/// A size or none. It is a type of its own because clap takes an `Option` for an optional flag.
#[derive(Debug, Clone, Copy)]
struct Fragment(Option<u32>);

/// A number or none, as [`Fragment`] is a size.
#[derive(Debug, Clone, Copy)]
struct Segments(Option<u32>);

fn parse_fragment(text: &str) -> Result<Fragment, ReplyError> {
    config::parse_fragment(text).map(Fragment)
}

fn parse_segments(text: &str) -> Result<Segments, ReplyError> {
    config::parse_segments(text).map(Segments)
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum MethodFlag {
    Copy,
    Gather,
    Sendfile,
}

impl ReplyFlags {
    /// Returns the reply settings of the command line.
    pub fn settings(&self) -> ReplySettings {
        ReplySettings {
            method: self.reply_method.map(MethodFlag::setting),
            fragment: self.reply_fragment.map(|fragment| fragment.0),
            segments: self.reply_segments.map(|segments| segments.0),
            batching: self.no_batching.then_some(false),
        }
    }
}

impl MethodFlag {
    fn setting(self) -> ReplyMethod {
        match self {
            MethodFlag::Copy => ReplyMethod::Copy,
            MethodFlag::Gather => ReplyMethod::Gather,
            MethodFlag::Sendfile => ReplyMethod::Sendfile,
        }
    }
}

/// Returns how the event loops send.
pub fn send_path(settings: &ReplySettings) -> SendPath {
    let count = |setting: Option<Option<u32>>| setting.flatten().and_then(|count| NonZero::new(count as usize));
    SendPath {
        fragment_bytes: count(settings.fragment),
        max_segments: count(settings.segments),
        copies: settings.method == Some(ReplyMethod::Copy),
        batches: settings.batching.unwrap_or(true),
    }
}

/// Whether replies may leave their data in the file.
pub fn sends_from_files(settings: &ReplySettings) -> bool {
    settings.method.is_none_or(|method| method == ReplyMethod::Sendfile)
}

/// Logs how replies are sent.
pub fn log(options: &Options) {
    let path = options.send_path;
    let limit = |limit: Option<NonZero<usize>>| limit.map_or_else(|| "none".to_owned(), |limit| limit.to_string());
    tracing::debug!(
        sendfile_from_bytes = options.sendfile_bytes,
        fragment_bytes = limit(path.fragment_bytes),
        max_segments = limit(path.max_segments),
        copying = path.copies,
        batching = path.batches,
        "how replies to READ are sent"
    );
}
