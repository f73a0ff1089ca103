use client_calls::Transport;

use crate::{FsInfo, Lie, Options, Reason};

/// The sizes of transfers, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Sizes {
    /// The most bytes of one READ.
    pub read: u32,
    /// The most bytes of one WRITE.
    pub write: u32,
    /// The most bytes of a READDIR's reply.
    pub readdir: u32,
}

impl Sizes {
    /// The most data over datagrams: with its header it fits in 64 KiB, and in half of that for servers with this
    /// limit.
    const MAX_DATAGRAM: u32 = 32 * 1024;
    /// The most data of any version.
    const MAX: u32 = proto::nfs3::MAX_DATA_BYTES as u32;
    /// The least for a READDIR: less does not hold an entry of the longest name with its attributes.
    const MIN_READDIR: u32 = 1024;

    /// Chooses the sizes that the options name or the server prefers, within the server's limits.
    pub(super) fn choose(info: &FsInfo, options: &Options) -> Result<Sizes, Reason> {
        let most = match options.transport {
            Transport::Tcp => Self::MAX,
            Transport::Udp => Self::MAX_DATAGRAM,
        };
        let pick = |asked: Option<u32>, preferred: u32, max: u32| {
            let wanted = asked.unwrap_or(preferred);
            let chosen = if wanted == 0 { max } else { wanted.min(max) };
            if max == 0 { Err(Reason::Lie(Lie::TransferSize(max))) } else { Ok(chosen.min(most)) }
        };
        Ok(Sizes {
            read: pick(options.read_bytes, info.read_preferred, info.read_max)?,
            write: pick(options.write_bytes, info.write_preferred, info.write_max)?,
            readdir: options.readdir_bytes.clamp(Self::MIN_READDIR, most),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const INFO: FsInfo = {
        let mut info = FsInfo::UNKNOWN;
        (info.read_max, info.read_preferred) = (1 << 20, 1 << 18);
        (info.write_max, info.write_preferred) = (1 << 16, 0);
        info
    };

    #[test]
    fn server_decides_the_most_and_the_options_what_is_used() {
        let sizes = Sizes::choose(&INFO, &Options::default()).unwrap();
        assert_eq!((sizes.read, sizes.write), (1 << 18, 1 << 16));
        let options = Options { read_bytes: Some(1 << 30), write_bytes: Some(4096), ..Options::default() };
        let sizes = Sizes::choose(&INFO, &options).unwrap();
        assert_eq!((sizes.read, sizes.write), (1 << 20, 4096));
    }

    #[test]
    fn datagrams_carry_32_kib_at_most() {
        let options = Options { transport: Transport::Udp, ..Options::default() };
        let sizes = Sizes::choose(&INFO, &options).unwrap();
        assert_eq!((sizes.read, sizes.write, sizes.readdir), (32_768, 32_768, 32_768));
    }

    #[test]
    fn server_that_allows_no_transfer_is_not_believed() {
        let mut info = INFO;
        info.read_max = 0;
        assert!(matches!(Sizes::choose(&info, &Options::default()), Err(Reason::Lie(Lie::TransferSize(0)))));
    }
}
