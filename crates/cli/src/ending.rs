/// Ends this process by the signal's default action, so that a shell ends its script, too, instead of running the next
/// command.
pub fn end_by(signal: i32) {
    // It only fails for unknown signals; then the process ends with an exit status.
    let _ = signal_hook::low_level::emulate_default_handler(signal);
}
