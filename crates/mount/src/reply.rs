//! Attributes and entries in the kernel's form.

use std::time::Duration;

use vfs::{Attributes, Device, Entry, FileKind, Found};

use crate::abi::{self, kind};
use crate::dispatch::Call;
use crate::output::{Output, Undo};

/// The unit of `blocks`, in bytes.
const BLOCK_BYTES: u64 = 512;

/// The file type bits of a mode.
pub(crate) fn kind_bits(of: FileKind) -> u32 {
    match of {
        FileKind::Regular => kind::REGULAR,
        FileKind::Directory => kind::DIRECTORY,
        FileKind::Symlink => kind::SYMLINK,
        FileKind::BlockDevice => kind::BLOCK_DEVICE,
        FileKind::CharDevice => kind::CHAR_DEVICE,
        FileKind::Fifo => kind::FIFO,
        FileKind::Socket => kind::SOCKET,
    }
}

/// A device number in the kernel's form: eight low bits of the minor number, then the major number, then the rest.
fn device_number(device: Device) -> u32 {
    device.minor & 0xff | device.major << 8 | (device.minor & !0xff) << 12
}

pub(crate) fn device_of(number: u32) -> Device {
    Device { major: number >> 8 & 0xfff, minor: number & 0xff | number >> 12 & 0xf_ff00 }
}

/// `fuse_attr`.
fn attributes(output: &mut Output, of: &Attributes) {
    output.u64(of.fileid);
    output.u64(of.size_bytes);
    output.u64(of.used_bytes.div_ceil(BLOCK_BYTES));
    for time in [of.accessed, of.modified, of.changed] {
        output.u64(time.seconds.cast_unsigned());
    }
    for time in [of.accessed, of.modified, of.changed] {
        output.u32(time.nanoseconds);
    }
    for word in [kind_bits(of.kind) | of.mode & 0o7777, of.links, of.uid, of.gid, device_number(of.device)] {
        output.u32(word);
    }
    // The block size, which the kernel chooses, and flags.
    output.zeros(8);
}

fn seconds(output: &mut Output, time: Duration) {
    output.u64(time.as_secs());
}

impl Call<'_> {
    /// `fuse_attr_out` for the file of the request.
    pub(crate) fn reply_attributes(&mut self, of: &Attributes) {
        self.session.nodes.tell_attributes(self.request.node, of);
        let validity = self.session.options.validity.attributes;
        seconds(self.output, validity);
        self.output.u32(validity.subsec_nanos());
        self.output.zeros(4);
        attributes(self.output, of);
    }

    /// `fuse_entry_out`, which counts as a lookup.
    pub(crate) fn reply_entry(&mut self, entry: &Entry) {
        self.reply_found(&Found { entry: *entry, is_current: true });
    }

    /// Like [`Call::reply_entry`], for a file whose attributes may have expired: the kernel fetches them when it needs
    /// them. Returns the node ID.
    pub(crate) fn reply_found(&mut self, Found { entry, is_current }: &Found) -> u64 {
        let number = self.session.nodes.tell(entry.handle, &entry.attributes);
        self.output.gives(Undo::Forget(number));
        let mut validity = self.session.options.validity;
        if !is_current {
            validity.attributes = Duration::ZERO;
        }
        self.output.u64(number);
        // IDs are never reused, so all have one generation.
        self.output.u64(0);
        seconds(self.output, validity.names);
        seconds(self.output, validity.attributes);
        self.output.u32(validity.names.subsec_nanos());
        self.output.u32(validity.attributes.subsec_nanos());
        attributes(self.output, &entry.attributes);
        number
    }

    /// `fuse_entry_out` for a missing name, which the kernel may cache.
    pub(crate) fn reply_absence(&mut self) {
        let validity = self.session.options.validity.absences;
        self.output.zeros(16);
        seconds(self.output, validity);
        self.output.zeros(8);
        self.output.u32(validity.subsec_nanos());
        self.output.zeros(abi::ENTRY_BYTES - 36);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn device_numbers_are_packed_and_unpacked() {
        for (major, minor) in [(8, 1), (0xfff, 0xf_ffff), (1, 0x300), (0, 0)] {
            let device = Device { major, minor };
            assert_eq!(device_of(device_number(device)), device);
        }
        assert_eq!(device_number(Device { major: 8, minor: 0x101 }), 0x10_0801);
    }

    #[test]
    fn attributes_take_the_bytes_that_the_kernel_wants() {
        let mut output = Output::new();
        attributes(&mut output, &Attributes::new(FileKind::Fifo, 7));
        assert_eq!(output.length(), 88);
    }
}
