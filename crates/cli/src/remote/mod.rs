//! What client commands have in common: flags, sessions with servers, and the presentation of files.

mod change;
mod connect;
mod flags;
mod location;
mod name;
mod runtime;
mod server;
mod shown;
mod umask;
mod user;
mod walk;

pub use change::set_attributes;
pub use connect::Session;
pub use flags::ConnectFlags;
pub use location::{Location, LocationError, location_argument, parse_url, parse_url_bytes, url_argument};
pub use name::{Shown, display_name};
pub use runtime::{FAREWELL, run, run_to_its_end};
pub use server::server_url;
pub use shown::{FileRecord, date_of, days_before, human_bytes, kind_text, mode_text, time_text};
pub use umask::{new_dir_mode, new_file_mode, umask};
pub use user::acts_as_root;
pub use walk::{MAX_DEPTH, Node, Step, Walk, join, last_name};

use crate::failure::Failure;

/// Adds the file, as the user named it, to an error.
pub fn about(file: impl Into<String>) -> impl FnOnce(client::Error) -> Failure {
    let file = file.into();
    move |source| Failure::Remote { file, source }
}
