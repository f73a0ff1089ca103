//! Counts false claims: many short runs of Wharf beside itself, on this machine.
//!
//! `error_rate WHARF [RUNS]`: the program, and how many runs (100). Each takes about five seconds.

use std::path::PathBuf;
use std::process::ExitCode;

use lab::Parent;
use lab::engine::{RunFolder, Settings, head, run};
use lab::experiments::{Conditions, Scale, find, restricted};
use measure::analysis::analyse;
use measure::{Margin, Verdict};

/// What is compared in each run: two servers that are alike, at one rate.
const EXPERIMENT: &str = "mix";
const PART: &str = "load=50 %";

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let (program, runs) = (arguments.next(), arguments.next().map_or(Ok(100), |text| text.parse()));
    let (Some(program), Ok(runs)) = (program, runs) else {
        eprintln!("error_rate WHARF [RUNS]");
        return ExitCode::from(2);
    };
    match count(&program.into(), runs) {
        Ok(claims) => {
            println!("{claims} of {runs} runs claim a difference; at most 5 % are expected");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("error_rate: {error}");
            ExitCode::FAILURE
        }
    }
}

/// How many runs claim that two servers differ, which are the same.
fn count(program: &PathBuf, runs: u64) -> Result<usize, Box<dyn std::error::Error>> {
    let parent = |path: &str, flag| Parent { path: path.into(), flag };
    let conditions = Conditions {
        program: std::path::absolute(program)?,
        server_program: std::path::absolute(program)?,
        scale: Scale::Quick,
        memory: parent("/dev/shm", "--memory-dir"),
        disk: parent("/var/tmp", "--disk-dir"),
        servers: Vec::new(),
    };
    let mut claims = 0;
    for seed in 1..=runs {
        let mut experiment = restricted((find(EXPERIMENT)?.make)(&conditions)?, vec![PART.parse()?])?;
        let settings = Settings { seed, rounds: Settings::QUICK_ROUNDS, ..Settings::default() };
        let folder = std::env::temp_dir().join(format!("wharf-error-rate-{}", std::process::id()));
        let mut record = RunFolder::open(&folder, head(experiment.as_ref(), &settings, env!("CARGO_PKG_VERSION")))?;
        run(experiment.as_mut(), &settings, &mut record, &mut |_| {})?;
        let results = analyse(record.run(), record.passes(), Margin::TWO_PERCENT);
        let is_claim = results.controls.iter().any(|row| matches!(row.verdict, Verdict::Higher | Verdict::Lower));
        claims += usize::from(is_claim);
        println!("run {seed}: {}", if is_claim { "a difference" } else { "none" });
        std::fs::remove_dir_all(folder)?;
    }
    Ok(claims)
}
