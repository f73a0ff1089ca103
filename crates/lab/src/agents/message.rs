//! What conductor and agent say to each other: JSON behind its length in 4 bytes.

use std::fmt;
use std::fs;
use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

use measure::record::{DirectionSummary, JobSummary};
use measure::{CpuUse, Period, Work};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

/// The most bytes of a message before the token is known to be right, after it, and with figures: two histograms of
/// four directions have up to 45 000 buckets.
pub(super) const MAX_HELLO_BYTES: u32 = 4 << 10;
pub(super) const MAX_ORDER_BYTES: u32 = 256 << 10;
pub(super) const MAX_REPORT_BYTES: u32 = 8 << 20;

/// What a conductor says first.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Hello {
    pub(super) version: String,
    pub(super) token: String,
}

/// What an agent answers to that.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum Welcome {
    Accepted,
    WrongToken,
    OtherVersion(String),
}

/// What a conductor wants of an agent that has accepted it.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum Order {
    /// To say what time it is.
    TellTime,
    /// To prepare a job: the one of this number in the command line. `host` is the agent's number.
    Prepare { command_line: Vec<String>, job: usize, host: u32 },
    /// To start the prepared job at this time of the agent's.
    Start { at: Duration },
    /// To end the job, with what was measured until then.
    Stop,
}

/// What an agent says.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum Report {
    /// Its time, from its start.
    Time(Duration),
    /// It is still at work.
    Alive,
    /// All connections are made.
    Ready,
    /// Why it could not do it.
    Failed(String),
    Found(Box<Figures>),
}

/// The figures of one host.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Figures {
    /// How much later than ordered it started.
    pub(super) late: Duration,
    pub(super) first_error: Option<String>,
    /// How many bytes of the file were used.
    file_bytes: String,
    runtime: Duration,
    elapsed: Duration,
    directions: Vec<DirectionSummary>,
    periods: Vec<Period>,
    work_in_runtime: Work,
    client_cpu: CpuUse,
    is_interrupted: bool,
}

/// The option with the bytes of the file, which an existing file decides.
const SIZE: &str = "size";

impl Figures {
    pub(super) fn new(summary: JobSummary, late: Duration, first_error: Option<String>) -> Figures {
        let file_bytes = summary.options.iter().find(|(name, _)| *name == SIZE);
        Figures {
            late,
            first_error,
            file_bytes: file_bytes.map(|(_, bytes)| bytes.clone()).unwrap_or_default(),
            runtime: summary.runtime,
            elapsed: summary.elapsed,
            directions: summary.directions,
            periods: summary.periods,
            work_in_runtime: summary.work_in_runtime,
            client_cpu: summary.client_cpu,
            is_interrupted: summary.is_interrupted,
        }
    }

    /// The summary of a job whose description the conductor knows.
    pub(super) fn into_summary(self, described: JobSummary) -> JobSummary {
        let mut summary = JobSummary {
            runtime: self.runtime,
            elapsed: self.elapsed,
            directions: self.directions,
            periods: self.periods,
            work_in_runtime: self.work_in_runtime,
            client_cpu: self.client_cpu,
            is_interrupted: self.is_interrupted,
            ..described
        };
        let size = summary.options.iter_mut().find(|(name, _)| *name == SIZE);
        size.into_iter().for_each(|(_, bytes)| bytes.clone_from(&self.file_bytes));
        summary
    }
}

/// Why a message did not come, or could not be sent.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum MessageError {
    /// The connection failed, was closed, or was silent for too long.
    #[error("{0}")]
    Io(#[from] io::Error),
    /// A message is longer than any can be.
    #[error("a message of {bytes} bytes, and {max} are the most: is this a Wharf agent?")]
    TooLong {
        /// How long it is.
        bytes: u32,
        /// The most that it can be.
        max: u32,
    },
    /// A message is none of these.
    #[error("a message that is none of Wharf's: {0}")]
    Json(#[from] serde_json::Error),
}

/// Sends a message.
pub(super) fn send(mut stream: &TcpStream, message: &impl Serialize) -> Result<(), MessageError> {
    let mut bytes = vec![0; LENGTH_BYTES];
    serde_json::to_writer(&mut bytes, message)?;
    let length = (bytes.len() - LENGTH_BYTES) as u32;
    bytes[..LENGTH_BYTES].copy_from_slice(&length.to_be_bytes());
    Ok(stream.write_all(&bytes)?)
}

/// Receives a message of at most so many bytes.
pub(super) fn receive<T: DeserializeOwned>(mut stream: &TcpStream, max: u32) -> Result<T, MessageError> {
    let mut length = [0; LENGTH_BYTES];
    stream.read_exact(&mut length)?;
    let bytes = u32::from_be_bytes(length);
    if bytes > max {
        return Err(MessageError::TooLong { bytes, max });
    }
    let mut message = vec![0; bytes as usize];
    stream.read_exact(&mut message)?;
    Ok(serde_json::from_slice(&message)?)
}

const LENGTH_BYTES: usize = 4;

/// The secret that an agent shares with its conductors.
#[derive(Clone)]
pub struct Token(String);

/// Why a file has no token.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TokenError {
    /// It cannot be read.
    #[error("{}: {source}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// It is too short to be a secret, or too long.
    #[error("{}: a token has {MIN_TOKEN_BYTES} to {MAX_TOKEN_BYTES} characters; `openssl rand -hex 16` makes one", .0.display())]
    Length(PathBuf),
}

const MIN_TOKEN_BYTES: usize = 16;
const MAX_TOKEN_BYTES: usize = 1024;

impl Token {
    /// Reads the token of a file, without spaces around it.
    ///
    /// # Errors
    /// When the file cannot be read, or its text is too short or too long.
    pub fn read(path: &Path) -> Result<Token, TokenError> {
        let text = fs::read_to_string(path).map_err(|source| TokenError::File { path: path.to_owned(), source })?;
        Token::new(text.trim()).ok_or_else(|| TokenError::Length(path.to_owned()))
    }

    /// This token, unless it is too short or too long.
    pub fn new(text: &str) -> Option<Token> {
        let is_long_enough = (MIN_TOKEN_BYTES..=MAX_TOKEN_BYTES).contains(&text.len());
        is_long_enough.then(|| Token(text.to_owned()))
    }

    pub(super) fn text(&self) -> String {
        self.0.clone()
    }

    /// Whether a text is this token, in a time that does not depend on where they differ.
    pub(super) fn is(&self, other: &str) -> bool {
        let (mine, others) = (self.0.as_bytes(), other.as_bytes());
        let difference = mine.iter().zip(others).fold(0, |all, (one, other)| all | (one ^ other));
        mine.len() == others.len() && difference == 0
    }
}

/// Keeps the secret out of logs.
impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token")
    }
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use measure::Histogram;

    use super::*;

    fn pair() -> (TcpStream, TcpStream) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let one = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        (one, listener.accept().unwrap().0)
    }

    #[test]
    fn message_over_the_limit_is_refused_at_its_length() {
        let (one, other) = pair();
        (&one).write_all(&(MAX_HELLO_BYTES + 1).to_be_bytes()).unwrap();
        let refused = receive::<Hello>(&other, MAX_HELLO_BYTES);
        assert!(matches!(refused, Err(MessageError::TooLong { bytes: 4097, max: 4096 })), "{refused:?}");
    }

    #[test]
    fn message_arrives_as_it_was_sent_and_another_one_is_refused() {
        let (one, other) = pair();
        send(&one, &Order::Start { at: Duration::from_nanos(1_234_567_890) }).unwrap();
        let Order::Start { at } = receive(&other, MAX_ORDER_BYTES).unwrap() else { panic!("another order") };
        assert_eq!(at.as_nanos(), 1_234_567_890);
        send(&one, &Welcome::Accepted).unwrap();
        assert!(matches!(receive::<Order>(&other, MAX_ORDER_BYTES), Err(MessageError::Json(_))));
    }

    #[test]
    fn histogram_arrives_as_it_was_and_one_with_buckets_beyond_the_last_is_refused() {
        let mut histogram = Histogram::new();
        [0, 300, 300, 5_000_000, u64::MAX].into_iter().for_each(|value| histogram.record(value));
        let text = serde_json::to_string(&histogram).unwrap();
        assert_eq!(serde_json::from_str::<Histogram>(&text).unwrap(), histogram);
        let beyond = text.replacen("[[0,", "[[5632,", 1);
        assert!(serde_json::from_str::<Histogram>(&beyond).is_err(), "{beyond}");
        // Counts of another host do no harm, however large.
        let huge = text.replacen("[[0,1,0]", &format!("[[0,{max},{max}]", max = u64::MAX), 1);
        let mut huge: Histogram = serde_json::from_str(&huge).unwrap();
        huge.merge(&huge.clone());
        assert_eq!((huge.count(), huge.quantile(1.0)), (10, Histogram::MAX_VALUE));
    }

    #[test]
    fn token_is_only_itself() {
        let token = Token("0123456789abcdef".to_owned());
        assert!(token.is("0123456789abcdef"));
        for other in ["", "0123456789abcde", "0123456789abcdeg", "0123456789abcdef0"] {
            assert!(!token.is(other), "{other}");
        }
    }
}
