//! The tests of this crate, in one program that is linked once. A test that changes or measures its whole process is a
//! program of its own, beside this folder.

#![allow(clippy::unwrap_used, reason = "a test ends where it cannot go on")]

mod agents;
mod arguments;
mod bench_files;
mod bench_fio;
mod bench_local;
mod benchmark;
mod command_line;
mod commands;
mod copying;
mod descriptors;
mod documentation;
mod export_itself;
mod exports;
mod file_commands;
mod hidden_files;
mod interrupted_bench;
mod lab_clients;
mod lab_profiles;
mod libnfs;
mod library;
mod log;
mod log_check;
mod log_commands;
mod log_exports;
mod log_marks;
mod log_names;
mod log_users;
mod lost_logs;
mod mount;
mod mount_locks;
mod nfsstat;
mod nfsstat_mount;
mod power_cuts;
mod power_failure;
mod reexport;
mod refused_starts;
mod replay;
mod restart;
mod resuming;
mod round_trip;
mod rpcbind;
mod same_file;
mod serve;
mod shortfalls;
mod state_files;
mod tcp_receive;
mod tcp_stream;
mod tcp_trace;
mod v4_recovery;
mod write_log;
mod write_log_kills;
