//! Reads exports and settings from three sources into one neutral form.
//!
//! [`load`] reads the command line ([`ExportFlags`]), a TOML file and a file in exports(5) syntax. It returns the
//! [`ExportSpec`]s of all three and the [`ServerSettings`] of the TOML file. What always holds:
//!
//! - A configuration is accepted as a whole or not at all. Each mistake is reported, with `FILE:LINE:COLUMN: reason`.
//! - An option without effect becomes a [`Remark`]; nothing is ignored silently.
//! - An export without a client list is for this machine only, and [`check_exposure`] refuses to offer it to others.
//!
//! Nothing here opens a socket or a directory. An argument with `=/` or `://` in it is a directory if one of this name
//! exists; otherwise nothing here depends on which directories exist.
#![forbid(unsafe_code)]

mod clients;
mod command_line;
mod copy_source;
mod defaults;
mod domain;
mod duration;
mod error;
mod exports;
mod exposure;
mod file;
mod id;
mod listen;
mod load;
mod origin;
mod path;
mod remark;
mod reply;
mod settings;
mod size;
mod spec;
mod storage;
mod suggestion;
mod write_log;

pub use clients::ClientsError;
pub use command_line::ExportFlags;
pub use copy_source::CopySource;
pub use defaults::Defaults;
pub use domain::parse_domain;
pub use duration::{DurationError, parse_busy_poll, parse_lease, parse_time, parse_timeout};
pub use error::{ConfigError, Reason};
pub use exports::parse_exports;
pub use exposure::{check_exposure, is_exposed};
pub use file::parse_toml;
pub use id::{IdError, parse_id};
pub use listen::Listen;
pub use load::{Loaded, Sources, load, load_what_can_be};
pub use origin::{Origin, Position};
pub use path::PathReason;
pub use remark::{Remark, RemarkKind};
pub use reply::{ReplyError, ReplyMethod, ReplySettings, parse_fragment, parse_segments};
pub use settings::{
    LimitSettings, LogFormat, LogLevel, LogSettings, ReadPlus, Rpcbind, ServerSettings, parse_limit,
    parse_long_patience, parse_memory, parse_patience, parse_threshold,
};
pub use size::{SizeError, SizeOrWordError, parse_size};
pub use spec::{ExportSpec, Source};
pub use storage::{ReadAhead, StorageSettings, parse_metadata_cache, parse_read_ahead};
pub use write_log::{WriteLogPlace, WriteLogSettings, parse_percent, parse_write_log};
