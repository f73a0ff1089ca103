//! Changes of attributes, of one file or of a tree.

use client::Entry;
use vfs::{Attributes, SetAttributes};

use super::{Session, Step, Walk, about};
use crate::failure::{Failure, Failures};

/// Sets what `choose` returns on a file, and on everything below it if `is_recursive`. Goes on after a failure.
///
/// # Errors
/// A failure that all further files would share.
pub async fn set_attributes(
    (session, top): (&Session, Entry),
    is_recursive: bool,
    failures: &mut Failures,
    choose: impl Fn(&Attributes) -> Option<SetAttributes>,
) -> Result<(), Failure> {
    let mut walk = Walk::new(session, top);
    while let Some(step) = walk.next().await {
        let result = match step {
            Step::Enter(node) | Step::File(node) => match choose(&node.entry.attributes) {
                Some(set) => {
                    let done = session.mount.setattr(&node.entry.handle, &set).await;
                    done.map(drop).map_err(about(session.name_of(&node.path)))
                }
                None => Ok(()),
            },
            Step::Leave(_) => Ok(()),
            Step::Unseen(_, _, failure) | Step::Failed(failure) => Err(failure),
        };
        failures.go_on(result)?;
        if !is_recursive {
            break;
        }
    }
    Ok(())
}
