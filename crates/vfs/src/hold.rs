use std::any::Any;

/// A hold on a file: until it is dropped, the file's handle reaches the file although its last name is removed.
/// Dropping it may wait for storage.
pub type FileHold = Box<dyn Any + Send>;
