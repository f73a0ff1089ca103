//! `wharf bench --replay`: the calls of a packet capture as a load.

use std::fs::File;
use std::path::PathBuf;

use clap::Args;
use lab::bench::BenchResult;
use lab::replay::{Capture, Error, Pace, Replay, run};

use crate::failure::BenchError;

/// Which capture is replayed, and how.
#[derive(Debug, Args)]
pub(super) struct ReplayFlags {
    /// Replay the NFSv3 calls of a packet capture (pcap or pcapng) in a new directory below the URL: each call begins
    /// when those are over that it waited for in the capture, and after the same pause.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["Load", "fio", "curve", "overwrite", "agents", "nfsstat"])]
    replay: Option<PathBuf>,
    /// Divide the pauses of the capture by this number, or leave them out: 1, 2, 0.5 or max. [default: 1]
    #[arg(long, value_name = "SPEED", requires = "replay")]
    replay_speed: Option<Pace>,
    /// The most data to write into the files that the capture reads, before the replay. [default: 16G]
    #[arg(long, value_name = "SIZE", requires = "replay", value_parser = config::parse_size)]
    replay_size: Option<u64>,
}

impl ReplayFlags {
    pub(super) fn is_wanted(&self) -> bool {
        self.replay.is_some()
    }

    /// What these flags add to a replay, and the capture; nothing if there is none.
    pub(super) fn read(&self) -> Result<Option<(CaptureFile, Capture)>, BenchError> {
        let Some(path) = &self.replay else { return Ok(None) };
        let failed = |source| BenchError::Replay { file: path.clone(), source };
        let capture = File::open(path).map_err(Error::Open).and_then(Capture::read).map_err(failed)?;
        let pace = self.replay_speed.unwrap_or(Pace::Times(1.0));
        let max_bytes = self.replay_size.unwrap_or(Replay::DEFAULT_MAX_BYTES);
        Ok(Some((CaptureFile { path: path.clone(), pace, max_bytes }, capture)))
    }
}

/// A capture to be replayed.
pub(super) struct CaptureFile {
    pub path: PathBuf,
    pub pace: Pace,
    pub max_bytes: u64,
}

impl CaptureFile {
    /// Replays it. Errors name the file.
    pub(super) fn replay(&self, replay: &Replay, capture: &Capture) -> Result<BenchResult, BenchError> {
        run(replay, capture).map_err(|source| BenchError::Replay { file: self.path.clone(), source })
    }
}
