//! Reads the frames of a capture file, in bounded memory.

use std::io::{self, Read};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use pcap_parser::traits::PcapNGPacketBlock;
use pcap_parser::{Block, Linktype, PcapBlockOwned, PcapError, PcapHeader, create_reader};

use super::Error;

/// The maximum block size. A packet has at most 64 KiB, or some hundred KiB with IPv6 jumbo offload.
const MAX_BLOCK_BYTES: usize = 1 << 20;
/// The maximum number of interfaces in a capture.
const MAX_INTERFACES: usize = 4096;

/// A captured packet.
pub(super) struct Frame<'a> {
    /// Time since 1970.
    pub at: Duration,
    /// The type of its first header.
    pub link: Linktype,
    /// The captured bytes.
    pub bytes: &'a [u8],
    /// How long it was.
    pub wire_bytes: usize,
}

/// Passes every frame of `capture` to `each`.
pub(super) fn read(capture: impl Read + Send, mut each: impl FnMut(&Frame<'_>)) -> Result<(), Error> {
    let cause = Arc::default();
    let read = read_blocks(Source { capture, cause: Arc::clone(&cause) }, &mut each);
    // The block reader does not return the system's error.
    match cause.lock().unwrap_or_else(PoisonError::into_inner).take() {
        Some(cause) => Err(Error::Read(cause)),
        None => read,
    }
}

fn read_blocks(source: impl Read + Send, each: &mut impl FnMut(&Frame<'_>)) -> Result<(), Error> {
    let mut reader = create_reader(MAX_BLOCK_BYTES, source).map_err(|error| match error {
        PcapError::Eof => Error::Empty,
        PcapError::Incomplete(_) => Error::Truncated { packets: 0 },
        _ => Error::Foreign,
    })?;
    let mut links = Links::default();
    let mut packets = 0;
    loop {
        match reader.next() {
            Ok((length, block)) => {
                if let Some(frame) = links.frame(block).map_err(|_: BadBlock| Error::Damaged { packets })? {
                    packets += 1;
                    each(&frame);
                }
                reader.consume(length);
            }
            Err(PcapError::Eof) => return Ok(()),
            Err(error) => {
                let is_incomplete = matches!(error, PcapError::Incomplete(_));
                let has_ended = matches!(error, PcapError::UnexpectedEof);
                let is_too_large = matches!(error, PcapError::BufferTooSmall);
                if has_ended || (is_incomplete && reader.reader_exhausted()) {
                    return Err(Error::Truncated { packets });
                }
                if is_too_large || (is_incomplete && reader.data().len() >= MAX_BLOCK_BYTES) {
                    return Err(Error::TooLarge { packets, max_bytes: MAX_BLOCK_BYTES });
                }
                if !is_incomplete || reader.refill().is_err() {
                    return Err(Error::Damaged { packets });
                }
            }
        }
    }
}

/// The file or pipe. Reads completely unless it ends, and keeps the error of a failed read.
struct Source<R> {
    capture: R,
    cause: Arc<Mutex<Option<io::Error>>>,
}

impl<R: Read> Read for Source<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let mut filled = 0;
        while filled < buffer.len() {
            match self.capture.read(&mut buffer[filled..]) {
                Ok(0) => break,
                Ok(more) => filled += more,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => {
                    let kind = error.kind();
                    *self.cause.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
                    return Err(kind.into());
                }
            }
        }
        Ok(filled)
    }
}

/// A block that contradicts earlier ones.
struct BadBlock;

/// How to interpret blocks.
#[derive(Default)]
struct Links {
    legacy: Option<PcapHeader>,
    /// The interfaces of this section of a pcapng file.
    interfaces: Vec<Interface>,
}

struct Interface {
    link: Linktype,
    snap_bytes: u32,
    units_per_second: u64,
    offset_s: i64,
}

impl Links {
    fn frame<'a>(&mut self, block: PcapBlockOwned<'a>) -> Result<Option<Frame<'a>>, BadBlock> {
        match block {
            PcapBlockOwned::LegacyHeader(header) => {
                self.legacy = Some(header);
                Ok(None)
            }
            PcapBlockOwned::Legacy(block) => {
                let header = self.legacy.as_ref().ok_or(BadBlock)?;
                let unit_ns = if header.is_nanosecond_precision() { 1 } else { 1000 };
                let at = Duration::from_secs(block.ts_sec.into())
                    + Duration::from_nanos(u64::from(block.ts_usec).saturating_mul(unit_ns));
                let wire_bytes = block.origlen as usize;
                Ok(Some(Frame { at, link: header.network, bytes: block.data, wire_bytes }))
            }
            PcapBlockOwned::NG(block) => self.ng_frame(block),
        }
    }

    fn ng_frame<'a>(&mut self, block: Block<'a>) -> Result<Option<Frame<'a>>, BadBlock> {
        match block {
            Block::SectionHeader(_) => self.interfaces.clear(),
            Block::InterfaceDescription(description) => {
                let units_per_second = description.ts_resolution().filter(|units| *units > 0).ok_or(BadBlock)?;
                if self.interfaces.len() >= MAX_INTERFACES {
                    return Err(BadBlock);
                }
                self.interfaces.push(Interface {
                    link: description.linktype,
                    snap_bytes: description.snaplen,
                    units_per_second,
                    offset_s: description.ts_offset(),
                });
            }
            Block::EnhancedPacket(packet) => {
                let interface = self.interfaces.get(packet.if_id as usize).ok_or(BadBlock)?;
                let units = u64::from(packet.ts_high) << 32 | u64::from(packet.ts_low);
                let bytes = &packet.data[..packet.data.len().min(packet.caplen as usize)];
                let wire_bytes = packet.orig_len() as usize;
                return Ok(Some(Frame { at: interface.time(units), link: interface.link, bytes, wire_bytes }));
            }
            Block::SimplePacket(packet) => {
                // Such a packet belongs to the first interface, and has no time.
                let interface = self.interfaces.first().ok_or(BadBlock)?;
                let captured = match interface.snap_bytes {
                    0 => packet.origlen,
                    snap => packet.origlen.min(snap),
                };
                let bytes = &packet.data[..packet.data.len().min(captured as usize)];
                let wire_bytes = packet.origlen as usize;
                return Ok(Some(Frame { at: Duration::ZERO, link: interface.link, bytes, wire_bytes }));
            }
            _ => {}
        }
        Ok(None)
    }
}

impl Interface {
    fn time(&self, units: u64) -> Duration {
        let seconds = (units / self.units_per_second).saturating_add_signed(self.offset_s);
        let rest = u128::from(units % self.units_per_second);
        let nanos = rest * 1_000_000_000 / u128::from(self.units_per_second);
        Duration::new(seconds, u32::try_from(nanos).unwrap_or(0))
    }
}
