/// Ends this process as the signal would have done: a shell that runs a script ends it too then, and does not go on with
/// the next command.
pub fn end_by(signal: i32) {
    // It fails for unknown signals only; then the process ends with a status.
    let _ = signal_hook::low_level::emulate_default_handler(signal);
}
