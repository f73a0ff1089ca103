//! Parses requests, and checks every length.

use rustix::io::Errno;

use crate::abi::IN_HEADER_BYTES;

/// A request from the kernel.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Request<'a> {
    pub(crate) opcode: u32,
    /// The ID of the request, which its reply repeats.
    pub(crate) unique: u64,
    /// The node ID of its file.
    pub(crate) node: u64,
    pub(crate) uid: u32,
    pub(crate) gid: u32,
    /// The thread that waits for the reply; 0 if this process cannot see it or none waits.
    pub(crate) pid: u32,
    pub(crate) arguments: Arguments<'a>,
}

impl<'a> Request<'a> {
    /// Splits off the header. `None` for fewer bytes than a header has or announces.
    pub(crate) fn parse(bytes: &'a [u8]) -> Option<Request<'a>> {
        let (header, rest) = bytes.split_at_checked(IN_HEADER_BYTES)?;
        let mut header = Arguments(header);
        let length = header.u32().ok()? as usize;
        let opcode = header.u32().ok()?;
        let unique = header.u64().ok()?;
        let node = header.u64().ok()?;
        let (uid, gid, pid) = (header.u32().ok()?, header.u32().ok()?, header.u32().ok()?);
        let arguments = Arguments(rest.get(..length.checked_sub(IN_HEADER_BYTES)?)?);
        Some(Request { opcode, unique, node, uid, gid, pid, arguments })
    }
}

/// The unparsed bytes of a request.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Arguments<'a>(pub(crate) &'a [u8]);

impl<'a> Arguments<'a> {
    /// The next `count` bytes.
    ///
    /// # Errors
    /// EIO if there are fewer, as in all methods here. The kernel never sends such a request.
    pub(crate) fn bytes(&mut self, count: usize) -> Result<&'a [u8], Errno> {
        let (bytes, rest) = self.0.split_at_checked(count).ok_or(Errno::IO)?;
        self.0 = rest;
        Ok(bytes)
    }

    pub(crate) fn u32(&mut self) -> Result<u32, Errno> {
        let (bytes, rest) = self.0.split_first_chunk().ok_or(Errno::IO)?;
        self.0 = rest;
        Ok(u32::from_ne_bytes(*bytes))
    }

    pub(crate) fn u64(&mut self) -> Result<u64, Errno> {
        let (bytes, rest) = self.0.split_first_chunk().ok_or(Errno::IO)?;
        self.0 = rest;
        Ok(u64::from_ne_bytes(*bytes))
    }

    /// The bytes up to the next NUL; skips the NUL.
    pub(crate) fn text(&mut self) -> Result<&'a [u8], Errno> {
        let end = self.0.iter().position(|byte| *byte == 0).ok_or(Errno::IO)?;
        let text = self.bytes(end)?;
        self.bytes(1)?;
        Ok(text)
    }

    /// The next text as a file name.
    pub(crate) fn name(&mut self) -> Result<vfs::Name<'a>, Errno> {
        vfs::Name::new(self.text()?).map_err(|error| match error {
            vfs::NameError::TooLong => Errno::NAMETOOLONG,
            _ => Errno::INVAL,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header(length: u32) -> Vec<u8> {
        let mut bytes = Vec::new();
        [length, 1].iter().for_each(|word| bytes.extend(word.to_ne_bytes()));
        [7_u64, 1].iter().for_each(|word| bytes.extend(word.to_ne_bytes()));
        [10_u32, 20, 30, 0].iter().for_each(|word| bytes.extend(word.to_ne_bytes()));
        bytes
    }

    #[test]
    fn request_is_taken_apart() {
        let mut bytes = header(44);
        bytes.extend(b"abc\0");
        let mut request = Request::parse(&bytes).unwrap();
        assert_eq!((request.opcode, request.unique, request.node), (1, 7, 1));
        assert_eq!((request.uid, request.gid, request.pid), (10, 20, 30));
        assert_eq!(request.arguments.name().unwrap().as_bytes(), b"abc");
    }

    #[test]
    fn request_that_ends_early_is_none_and_so_is_one_that_announces_more_than_there_is() {
        assert!(Request::parse(&header(40)[..39]).is_none());
        assert!(Request::parse(&header(41)).is_none());
        assert!(Request::parse(&header(39)).is_none());
        assert!(Request::parse(&header(40)).is_some());
    }

    #[test]
    fn arguments_that_are_missing_are_an_error() {
        assert_eq!(Arguments(&[0; 3]).u32().unwrap_err(), Errno::IO);
        assert_eq!(Arguments(&[0; 7]).u64().unwrap_err(), Errno::IO);
        assert_eq!(Arguments(b"abc").text().unwrap_err(), Errno::IO);
        assert_eq!(Arguments(b"a/b\0").name().unwrap_err(), Errno::INVAL);
        assert_eq!(Arguments(&[b"x".repeat(256), vec![0]].concat()).name().unwrap_err(), Errno::NAMETOOLONG);
    }
}
