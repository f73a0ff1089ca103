//! The protocol programs, driven by hand.

#[path = "../caller/mod.rs"]
mod caller;

mod v3_files;
mod v3_listing;
mod v3_names;
mod wcc;
