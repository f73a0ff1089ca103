use std::io::Write;

use vfs::quoted;

use super::examined::{self, Flags};
use crate::failure::Failure;

/// Checks it.
pub fn run(flags: &Flags) -> Result<(), Failure> {
    let check = examined::print(flags, |output, check| {
        if check.damages.is_empty() {
            let path = quoted(&flags.path);
            writeln!(output, "{path}: {} records in {} batches, all of them whole", check.records, check.batches)?;
        }
        Ok(())
    })?;
    let damages = check.damages.iter().map(|damage| Failure::LogDamage { path: flags.path.clone(), damage: *damage });
    Failure::if_any(damages.collect())
}
