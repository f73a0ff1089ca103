//! Standard output.

use std::fmt;
use std::io::{self, StdoutLock, Write};

use serde::Serialize;

use crate::failure::Failure;

/// Standard output, locked and buffered. [`Output::finish`] flushes it.
pub struct Output(io::BufWriter<StdoutLock<'static>>);

impl Output {
    /// Takes standard output.
    pub fn new() -> Output {
        Output(io::BufWriter::new(io::stdout().lock()))
    }

    /// Writes `value` as JSON.
    ///
    /// # Errors
    /// Those of the system.
    pub fn json<T: Serialize>(&mut self, value: &T) -> Result<(), Failure> {
        report::write_json(&mut self.0, value).map_err(io::Error::from)?;
        Ok(self.0.write_all(b"\n")?)
    }

    /// Flushes the buffer.
    ///
    /// # Errors
    /// Those of the system.
    pub fn finish(mut self) -> io::Result<()> {
        self.0.flush()
    }
}

/// Prints a line at once.
///
/// # Errors
/// Those of the system.
pub fn line(text: fmt::Arguments<'_>) -> Result<(), Failure> {
    let mut output = Output::new();
    output.write_fmt(text)?;
    output.write_all(b"\n")?;
    Ok(output.finish()?)
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        // As for other programs, output that nobody wants may be closed while there is none.
        daemon::check_stream(1)?;
        self.0.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}
