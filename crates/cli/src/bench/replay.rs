//! `wharf bench --replay`: the calls of a packet capture as a load.

use std::fs::File;
use std::path::PathBuf;

use clap::Args;
use client::Version;
use lab::bench::BenchResult;
use lab::replay::{Capture, Error, Pace, Replay, run};

use crate::failure::BenchError;

/// Which capture is replayed, and how.
#[derive(Debug, Args)]
pub(super) struct ReplayFlags {
    /// Replay the NFSv3 or NFSv4 calls of a packet capture (pcap or pcapng) in a new directory below the URL: each call
    /// begins when those are over that it waited for in the capture, and after the same pause. [default version: the
    /// capture's]
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
    /// The capture, and what these flags add to its replay; nothing if there is none.
    pub(super) fn file(&self) -> Option<CaptureFile> {
        let pace = self.replay_speed.unwrap_or(Pace::Times(1.0));
        let max_bytes = self.replay_size.unwrap_or(Replay::DEFAULT_MAX_BYTES);
        self.replay.clone().map(|path| CaptureFile { path, pace, max_bytes })
    }
}

/// A capture to be replayed.
pub(super) struct CaptureFile {
    pub path: PathBuf,
    pub pace: Pace,
    pub max_bytes: u64,
}

impl CaptureFile {
    /// Reads the calls of the version that is wanted, or of that of the first call. Errors name the file.
    pub(super) fn read(&self, wanted: Option<Version>) -> Result<Capture, BenchError> {
        let capture = File::open(&self.path).map_err(Error::Open).and_then(|file| Capture::read(file, wanted));
        capture.map_err(|source| BenchError::Replay { file: self.path.clone(), source })
    }

    /// Replays it. Errors name the file.
    pub(super) fn replay(&self, replay: &Replay, capture: &Capture) -> Result<BenchResult, BenchError> {
        run(replay, capture).map_err(|source| BenchError::Replay { file: self.path.clone(), source })
    }
}
