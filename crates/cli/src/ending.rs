/// The first process of a container or another namespace of processes.
const FIRST_PROCESS: u32 = 1;

/// Ends this process by the signal's default action, so that a shell ends its script, too, instead of running the next
/// command.
///
/// The kernel ignores default actions for the first process of a namespace (pid_namespaces(7)). There it ends with the
/// status that a shell reports for the signal.
pub fn end_by(signal: i32) {
    if std::process::id() == FIRST_PROCESS {
        std::process::exit(128 + signal);
    }
    // It only fails for unknown signals; then the process ends with an exit status.
    let _ = signal_hook::low_level::emulate_default_handler(signal);
}
