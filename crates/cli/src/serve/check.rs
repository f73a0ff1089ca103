//! `wharf serve --check`: prints a plan.

use std::io::Write;

use super::Flags;
use super::log_check;
use super::offer::{Offer, Offers};
use super::plan::{Look, Plan};
use crate::failure::Failure;
use crate::output::Output;
use fs_host::Examined;

/// Prints what would be served.
///
/// # Errors
/// When a start would be refused because of a write log.
pub fn print(plan: &Plan, flags: &Flags) -> Result<(), Failure> {
    let exports = plan.loaded.exports.iter().zip(&plan.looks).map(|(spec, look)| Offer::of(spec, handles(look)));
    let remarks = plan.loaded.remarks.iter().map(ToString::to_string);
    let remarks = remarks.chain(plan.shortfalls.iter().cloned()).chain(log_check::check(plan)?).collect();
    let offers = Offers::new(exports.collect(), &plan.addresses, plan.options.state_dir.as_deref(), remarks);
    let mut output = Output::new();
    if flags.is_json() {
        output.json(&offers)?;
    } else {
        write!(output, "{offers}")?;
    }
    Ok(output.finish()?)
}

/// How handles identify files.
fn handles(look: &Look) -> Option<&'static str> {
    match look {
        Look::Dir(Examined { has_kernel_handles: true, .. }) => Some("kernel"),
        Look::Dir(_) => Some("store"),
        Look::Other => None,
    }
}
