//! A mount without a kernel: carries out requests from bytes, and discards the replies.

use std::fs::File;
use std::io;
use std::sync::Arc;

use vfs::FileSystem;

use crate::abi::opcode;
use crate::arguments::Request;
use crate::device::Device;
use crate::options::Options;
use crate::output::Output;
use crate::session::Session;
use crate::{dispatch, init};

/// A file system without a mount, to test requests on it.
pub struct Unmounted {
    session: Session,
    output: Output,
}

impl Unmounted {
    /// Replaces the kernel's side.
    ///
    /// # Errors
    /// `/dev/null` cannot be opened.
    pub fn new(fs: Arc<dyn FileSystem>, options: Options) -> io::Result<Unmounted> {
        let nowhere = File::options().write(true).open("/dev/null")?;
        Ok(Unmounted { session: Session::new(fs, options, Device(nowhere.into())), output: Output::new() })
    }

    /// Carries out one request, including its header. Returns whether the bytes are one.
    pub fn take(&mut self, request: &[u8]) -> bool {
        let Some(request) = Request::parse(request) else { return false };
        if request.opcode == opcode::INIT {
            return init::accept(&request).is_ok();
        }
        if !dispatch::at_once(&self.session, &request) {
            self.session.flights.begin(request.unique, request.pid, dispatch::waits_for_a_lock(&request));
            self.session.answer(&request, 0, &mut self.output);
        }
        true
    }
}
