//! Replays the NFSv3 or NFSv4 calls of a packet capture as a load.
//!
//! [`Capture::read`] finds the calls of each client connection and their replies. [`run`] makes the files that the
//! capture found at its start, and then does the calls: each begins when those are over that it waited for in the
//! capture, and after the same pause. Names and contents are invented; sizes, offsets, errors and the order are those
//! of the capture.
//!
//! - `reader`, `stream`, `fragments` and `records` put TCP segments, datagrams and RPC messages together, of which
//!   parts may be missing, and `messages` pairs calls with replies.
//! - `op` has the calls with numbers for handles and names, and `tree` what `learn` finds out about these files.
//! - `compound` has COMPOUNDs of NFSv4: `decode` and `walk` give them numbers, also for the opens and locks in
//!   `states`, and `learn_compound` reads their results.
//! - `schedule` decides when a call begins.
//! - `prepare` makes the files, and `send` and `send_compound` do one call, with the stateids in `opens`.

mod capture;
mod compound;
mod decode;
mod error;
mod found;
mod fragments;
mod ids;
mod invented;
mod learn;
mod learn_compound;
mod left_out;
mod messages;
mod op;
mod opens;
mod prepare;
mod reader;
mod records;
mod run;
mod schedule;
mod send;
mod send_compound;
mod states;
mod stream;
mod tree;
mod walk;

use client::{Options, Url};
use measure::record::JobSummary;

pub use capture::{Capture, Seen};
pub use error::Error;
pub use left_out::LeftOut;
pub use run::run;
pub use schedule::{Pace, PaceError};

use crate::bench::{Observer, Progress, Stop};

/// How to replay a capture.
#[derive(Debug, Clone)]
pub struct Replay {
    /// What the user calls it: the file of the capture.
    pub name: String,
    /// The directory to make a directory in.
    pub url: Url,
    /// How to mount; what the URL says goes before.
    pub options: Options,
    /// How fast.
    pub pace: Pace,
    /// How many bytes may be written into files before.
    pub max_bytes: u64,
    /// The server's process, if it runs on this machine and its cost is wanted.
    pub server_pid: Option<u32>,
    /// Who is told what was measured, before the files are removed.
    pub on_measured: Option<Observer<JobSummary>>,
    /// Who is told now and then how far it is.
    pub watcher: Option<Observer<Progress>>,
    /// What ends it before its time.
    pub stop: Stop,
}

impl Replay {
    /// How many bytes are written before a replay, unless more are allowed.
    pub const DEFAULT_MAX_BYTES: u64 = 16 << 30;

    /// The directory that a replay of this process makes.
    pub fn dir_name() -> String {
        format!("wharf-replay.{}", std::process::id())
    }
}
