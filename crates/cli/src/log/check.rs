use std::io::Write;

use vfs::{counted, quoted};

use super::examined::{self, ExaminedLog};
use super::record::LogRecord;
use crate::failure::Failure;
use crate::output::Output;

/// Checks it.
pub fn run(flags: &ExaminedLog) -> Result<(), Failure> {
    let (check, mut output) = (examined::read(flags)?, Output::new());
    if flags.json {
        output.json(&LogRecord::new(&flags.path, &check))?;
    } else if check.damages.is_empty() {
        let path = quoted(&flags.path);
        let records = counted(check.records, "record", "records");
        let batches = counted(check.batches, "batch", "batches");
        writeln!(output, "{path}: {records} in {batches}, all of them whole")?;
        if check.has_damaged_header {
            writeln!(output, "one of the two headers is damaged, as after a crash while the log was trimmed")?;
        }
    }
    output.finish()?;
    let damages = check.damages.iter().map(|damage| Failure::LogDamage { path: flags.path.clone(), damage: *damage });
    Failure::if_any(damages.collect())
}
