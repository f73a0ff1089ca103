//! Dispatches requests to their operations.

use rustix::io::Errno;
use vfs::Context;

use crate::abi::opcode;
use crate::arguments::{Arguments, Request};
use crate::callers::Identity;
use crate::flights::Interruption;
use crate::ops;
use crate::output::Output;
use crate::session::Session;

/// A request being carried out.
pub(crate) struct Call<'a> {
    pub(crate) session: &'a Session,
    pub(crate) request: &'a Request<'a>,
    /// The number of the worker thread.
    pub(crate) worker: usize,
    pub(crate) output: &'a mut Output,
}

/// The result of a request: the reply is in the output, or an error is sent.
pub(crate) type FuseResult = Result<(), Errno>;

impl<'a> Call<'a> {
    /// The arguments of the request.
    pub(crate) fn arguments(&self) -> Arguments<'a> {
        self.request.arguments
    }

    /// The file of the request.
    ///
    /// # Errors
    /// ESTALE if the kernel does not have it.
    pub(crate) fn handle(&self) -> Result<vfs::Handle, Errno> {
        self.session.nodes.handle(self.request.node)
    }

    /// The caller.
    pub(crate) fn identity(&self) -> Identity {
        self.session.callers.identity(self.request)
    }

    /// The context for a call of the file system.
    pub(crate) fn context<'b>(&self, identity: &'b Identity) -> Context<'b> {
        Context { caller: identity.caller(), worker: self.worker, ..Context::ROOT }
    }
}

/// Carries out requests without a reply, which never block. Returns whether this was one.
pub(crate) fn at_once(session: &Session, request: &Request<'_>) -> bool {
    match request.opcode {
        opcode::FORGET => ops::forget::one(session, request),
        opcode::BATCH_FORGET => ops::forget::many(session, request),
        opcode::INTERRUPT => interrupt(session, request),
        _ => return false,
    }
    true
}

/// Whether a request may wait until another owner releases a lock.
pub(crate) fn waits_for_a_lock(request: &Request<'_>) -> bool {
    request.opcode == opcode::SETLKW
}

/// Handles a signal to the thread that waits for another request.
fn interrupt(session: &Session, request: &Request<'_>) {
    let Ok(unique) = request.arguments.clone().u64() else { return };
    match session.flights.interrupt(unique) {
        Interruption::Obeyed => {
            session.send_error(unique, Errno::INTR);
        }
        Interruption::Watched => {}
        // A thread may have received the request but not noted it yet. The kernel retries if it is still unanswered
        // then.
        Interruption::Unknown => {
            session.send_error(request.unique, Errno::AGAIN);
        }
    }
}

/// Carries out a request.
///
/// # Errors
/// The error for the kernel. ENOSYS marks an operation as missing, and the kernel does not request it again.
pub(crate) fn carry_out(session: &Session, request: &Request<'_>, worker: usize, output: &mut Output) -> FuseResult {
    let call = Call { session, request, worker, output };
    match request.opcode {
        opcode::LOOKUP => ops::lookup::run(call),
        opcode::GETATTR => ops::getattr::run(call),
        opcode::SETATTR => ops::setattr::run(call),
        opcode::READLINK => ops::readlink::run(call),
        opcode::SYMLINK => ops::symlink::run(call),
        opcode::MKNOD => ops::mknod::run(call),
        opcode::MKDIR => ops::mkdir::run(call),
        opcode::UNLINK => ops::unlink::run(call),
        opcode::RMDIR => ops::rmdir::run(call),
        opcode::RENAME => ops::rename::run(call),
        opcode::RENAME2 => ops::rename::run_with_flags(call),
        opcode::LINK => ops::link::run(call),
        opcode::OPEN => ops::open::run(call),
        opcode::CREATE => ops::create::run(call),
        opcode::READ => ops::read::run(call),
        opcode::WRITE => ops::write::run(call),
        opcode::STATFS => ops::statfs::run(call),
        opcode::FLUSH => ops::flush::run(call),
        opcode::RELEASE => ops::release::run(call),
        opcode::FSYNC => ops::fsync::run(call),
        opcode::SYNCFS => ops::syncfs::run(call),
        opcode::OPENDIR => ops::opendir::run(call),
        opcode::READDIR => ops::readdir::run(call),
        opcode::READDIRPLUS => ops::readdirplus::run(call),
        // Changes of names are stable when their call returns.
        opcode::RELEASEDIR => ops::releasedir::run(call),
        opcode::FSYNCDIR | opcode::DESTROY => Ok(()),
        opcode::GETLK => ops::getlk::run(call),
        opcode::SETLK..=opcode::SETLKW => ops::setlk::run(call),
        opcode::SETXATTR..=opcode::REMOVEXATTR => xattrs(call),
        opcode::FALLOCATE => ops::fallocate::run(call),
        opcode::LSEEK => ops::lseek::run(call),
        opcode::COPY_FILE_RANGE => ops::copy_file_range::run(call),
        // IOCTL, POLL, BMAP, TMPFILE, STATX, and operations of newer kernels.
        _ => Err(Errno::NOSYS),
    }
}

fn xattrs(call: Call<'_>) -> FuseResult {
    match call.request.opcode {
        _ if !call.session.properties.xattrs => Err(Errno::NOSYS),
        opcode::GETXATTR => ops::getxattr::run(call),
        opcode::SETXATTR => ops::setxattr::run(call),
        opcode::LISTXATTR => ops::listxattr::run(call),
        _ => ops::removexattr::run(call),
    }
}

const _: () = assert!(opcode::SETLK + 1 == opcode::SETLKW && opcode::SETXATTR + 3 == opcode::REMOVEXATTR);
