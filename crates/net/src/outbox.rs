//! What a connection still has to send.
//!
//! Outputs go out in the order in which they came in; within an output, parts of files go out between its bytes. The
//! outbox makes no system call: it says what is to be sent next and is told how much of it was.

use std::collections::VecDeque;
use std::io::IoSlice;
use std::mem;

use buffer::{Buffer, Output, SharedFile};

use crate::outputs::Outputs;

/// How many pieces one vectored send takes at most.
pub(crate) const MAX_SLICES: usize = 32;

/// Outputs up to this size are copied behind one that is waiting already, so that many small answers to a peer that
/// does not read them do not take a buffer each.
const COALESCE_BYTES: usize = 16 << 10;

/// An output that has grown to this size takes no further ones in.
const COALESCED_MAX_BYTES: usize = 256 << 10;

/// An output with less memory than this stays where it is though it needs less.
const SLIM_BYTES: usize = 16 << 10;

/// What a part of a file counts as memory: it holds a file open, so that open files are bounded with the memory.
const FILE_BYTES: usize = 16 << 10;

/// Outputs in flight.
#[derive(Default)]
pub(crate) struct Outbox {
    queue: VecDeque<Sending>,
    unsent_bytes: usize,
    memory_bytes: usize,
}

/// An output of which a part may have gone out. What comes next is the bytes up to the next file part, or this part.
struct Sending {
    output: Output,
    bytes_sent: usize,
    files_sent: usize,
    file_bytes_sent: usize,
    file_way: FileWay,
    /// What was read of the present file part, and how much of it went out.
    fetched: Buffer,
    fetched_sent: usize,
    /// Whether it was copied into one segment, in memory for such copies.
    is_flat: bool,
}

/// How the bytes of the present file part are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FileWay {
    /// By `sendfile`.
    Sendfile,
    /// By reading them, since the file's file system does not support `sendfile`.
    Read,
    /// Not at all, since the file has become shorter; zeros take their place.
    Zeros,
    /// By reading them on a thread that may wait, since they were evicted from memory.
    Fetch,
    /// Such a thread is reading them.
    Fetching,
}

/// What has to go out next.
pub(crate) enum Next<'a> {
    /// The bytes that [`Outbox::gather`] finds.
    Bytes,
    /// This part of a file.
    File {
        file: &'a SharedFile,
        offset_bytes: u64,
        length: usize,
        way: FileWay,
        /// Whether something is known to follow it.
        more: bool,
    },
    /// These bytes of a file, which a thread has read.
    Fetched {
        bytes: &'a [u8],
        /// Whether something is known to follow them.
        more: bool,
    },
}

impl Outbox {
    /// Whether nothing is left to send.
    pub(crate) fn is_empty(&self) -> bool {
        self.queue.is_empty()
    }

    /// How many bytes are left to send, parts of files included.
    pub(crate) fn unsent_bytes(&self) -> usize {
        self.unsent_bytes
    }

    /// How much memory the outputs take, and the files that they hold open.
    pub(crate) fn memory_bytes(&self) -> usize {
        self.memory_bytes
    }

    /// Puts an output behind the others; its memory goes to `outputs` in the end.
    pub(crate) fn push(&mut self, output: Output, outputs: &mut Outputs) {
        self.unsent_bytes += output.len();
        if output.is_empty() {
            return outputs.give(output);
        }
        if let Some(last) = self.queue.back_mut().filter(|last| last.takes_in(&output)) {
            let before = last.output.bytes.capacity();
            last.output.bytes.put(output.bytes.as_slice());
            self.memory_bytes += last.output.bytes.capacity() - before;
            return outputs.give(output);
        }
        self.push_alone(Sending::new(output));
    }

    /// Puts a copy behind the others that goes out as one segment; its memory is from [`Outputs::take_cold`].
    pub(crate) fn push_flat(&mut self, output: Output) {
        self.unsent_bytes += output.len();
        self.push_alone(Sending { is_flat: true, ..Sending::new(output) });
    }

    fn push_alone(&mut self, sending: Sending) {
        self.memory_bytes += memory_of(&sending.output);
        self.queue.push_back(sending);
    }

    /// What has to go out next, or nothing when all is sent.
    pub(crate) fn next(&self) -> Option<Next<'_>> {
        let first = self.queue.front()?;
        if first.bytes_sent < first.bytes_end() {
            return Some(Next::Bytes);
        }
        if !first.fetched.is_empty() {
            let bytes = &first.fetched.as_slice()[first.fetched_sent..];
            return Some(Next::Fetched { bytes, more: bytes.len() < self.unsent_bytes });
        }
        let piece = &first.output.files()[first.files_sent];
        let length = piece.length - first.file_bytes_sent;
        Some(Next::File {
            file: &piece.file,
            offset_bytes: piece.offset_bytes + first.file_bytes_sent as u64,
            length,
            way: first.file_way,
            more: length < self.unsent_bytes,
        })
    }

    /// All that is left to send, if it is bytes of one output.
    pub(crate) fn only_bytes(&self) -> Option<&[u8]> {
        let first = self.queue.front()?;
        let is_only = self.queue.len() == 1 && first.files_sent == first.output.files().len();
        is_only.then(|| &first.output.bytes.as_slice()[first.bytes_sent..])
    }

    /// Collects bytes that can go out in one send, up to the next part of a file. Returns how many slices it filled and
    /// whether something follows them.
    pub(crate) fn gather<'a>(&'a self, slices: &mut [IoSlice<'a>; MAX_SLICES]) -> (usize, bool) {
        let mut count = 0;
        for sending in &self.queue {
            let end = sending.bytes_end();
            if sending.bytes_sent < end {
                if count == MAX_SLICES {
                    return (count, true);
                }
                slices[count] = IoSlice::new(&sending.output.bytes.as_slice()[sending.bytes_sent..end]);
                count += 1;
            }
            if sending.files_sent < sending.output.files().len() {
                return (count, true);
            }
        }
        (count, false)
    }

    /// Collects the same bytes in segments of up to `segment_bytes` each, up to `max` of them. Returns whether
    /// something follows them.
    pub(crate) fn gather_segments<'a>(
        &'a self,
        segment_bytes: usize,
        max: usize,
        segments: &mut Vec<IoSlice<'a>>,
    ) -> bool {
        for sending in &self.queue {
            let bytes = &sending.output.bytes.as_slice()[sending.bytes_sent..sending.bytes_end()];
            for segment in bytes.chunks(if sending.is_flat { usize::MAX } else { segment_bytes }) {
                if segments.len() == max {
                    return true;
                }
                segments.push(IoSlice::new(segment));
            }
            if sending.files_sent < sending.output.files().len() {
                return true;
            }
        }
        false
    }

    /// Takes note that `count` bytes of what [`Outbox::gather`] found have gone out.
    pub(crate) fn sent_bytes(&mut self, mut count: usize, outputs: &mut Outputs) {
        self.unsent_bytes -= count;
        while count > 0 {
            let first = self.queue.front_mut().expect("more bytes sent than were queued");
            let part = count.min(first.bytes_end() - first.bytes_sent);
            first.bytes_sent += part;
            count -= part;
            self.drop_finished(outputs);
        }
    }

    /// Takes note that `count` bytes of the present file part have gone out.
    pub(crate) fn sent_file(&mut self, count: usize, outputs: &mut Outputs) {
        self.unsent_bytes -= count;
        let first = self.queue.front_mut().expect("a file part sent that was not queued");
        first.file_bytes_sent += count;
        self.memory_bytes -= first.sent_fetched(count);
        first.skip_finished_files();
        self.drop_finished(outputs);
    }

    /// Moves the last output to memory of its own size if it has much more than it needs, since it will stay for a
    /// while.
    pub(crate) fn slim(&mut self, outputs: &mut Outputs) {
        let Some(last) = self.queue.back_mut().filter(|last| !last.is_flat) else { return };
        let bytes = &last.output.bytes;
        if bytes.capacity() > SLIM_BYTES && bytes.capacity() / 2 > bytes.len() {
            let mut slim = Output::new();
            slim.bytes = Buffer::with_capacity(last.output.bytes.len());
            copy(&last.output, &mut slim);
            self.memory_bytes -= memory_of(&last.output) - memory_of(&slim);
            outputs.give(mem::replace(&mut last.output, slim));
        }
    }

    /// Whether nothing can be sent until a thread has read a part of a file.
    pub(crate) fn is_waiting(&self) -> bool {
        matches!(self.next(), Some(Next::File { way: FileWay::Fetch | FileWay::Fetching, .. }))
    }

    /// The part of a file that a thread has to read now, at most `max_bytes` long: its place and its length.
    pub(crate) fn begin_fetch(&mut self, max_bytes: usize) -> Option<(SharedFile, u64, usize)> {
        let first = self.queue.front_mut().filter(|first| first.file_way == FileWay::Fetch)?;
        first.file_way = FileWay::Fetching;
        let piece = first.output.files().get(first.files_sent)?;
        let length = (piece.length - first.file_bytes_sent).min(max_bytes);
        Some((SharedFile::clone(&piece.file), piece.offset_bytes + first.file_bytes_sent as u64, length))
    }

    /// Takes what a thread has read; nothing when the file has become shorter.
    pub(crate) fn put_fetched(&mut self, bytes: Buffer) {
        let Some(first) = self.queue.front_mut().filter(|first| first.file_way == FileWay::Fetching) else { return };
        first.file_way = if bytes.is_empty() { FileWay::Zeros } else { FileWay::Sendfile };
        if !bytes.is_empty() {
            self.memory_bytes += bytes.capacity();
            (first.fetched, first.fetched_sent) = (bytes, 0);
        }
    }

    /// Decides how the rest of the present file part is had.
    pub(crate) fn set_file_way(&mut self, way: FileWay) {
        if let Some(first) = self.queue.front_mut() {
            first.file_way = way;
        }
    }

    /// Gives up whatever is left.
    pub(crate) fn clear(&mut self) {
        *self = Outbox::default();
    }

    fn drop_finished(&mut self, outputs: &mut Outputs) {
        if self.queue.front().is_some_and(Sending::is_finished)
            && let Some(finished) = self.queue.pop_front()
        {
            self.memory_bytes -= memory_of(&finished.output);
            match finished.is_flat {
                true => outputs.give_cold(finished.output),
                false => outputs.give(finished.output),
            }
        }
    }
}

impl Sending {
    fn new(output: Output) -> Sending {
        let mut sending = Sending {
            output,
            bytes_sent: 0,
            files_sent: 0,
            file_bytes_sent: 0,
            file_way: FileWay::Sendfile,
            fetched: Buffer::new(),
            fetched_sent: 0,
            is_flat: false,
        };
        sending.skip_finished_files();
        sending
    }

    /// Where the bytes before the next file part end.
    fn bytes_end(&self) -> usize {
        self.output.files().get(self.files_sent).map_or(self.output.bytes.len(), |piece| piece.after)
    }

    /// Takes note that `count` bytes of what was fetched went out, if any was; says how much memory that gave back.
    fn sent_fetched(&mut self, count: usize) -> usize {
        if self.fetched.is_empty() {
            return 0;
        }
        self.fetched_sent += count;
        if self.fetched_sent < self.fetched.len() {
            return 0;
        }
        mem::take(&mut self.fetched).capacity()
    }

    fn is_finished(&self) -> bool {
        self.bytes_sent == self.output.bytes.len() && self.files_sent == self.output.files().len()
    }

    /// Goes past the present file part if all of it is sent, and past empty ones.
    fn skip_finished_files(&mut self) {
        while let Some(piece) = self.output.files().get(self.files_sent)
            && piece.length == self.file_bytes_sent
        {
            self.files_sent += 1;
            self.file_bytes_sent = 0;
            self.file_way = FileWay::Sendfile;
        }
    }

    fn takes_in(&self, output: &Output) -> bool {
        let is_small = output.files().is_empty() && output.len() <= COALESCE_BYTES;
        is_small && !self.is_flat && self.output.bytes.len() < COALESCED_MAX_BYTES
    }
}

/// How much memory an output takes, and the files that it holds open.
fn memory_of(output: &Output) -> usize {
    output.bytes.capacity() + output.files().len() * FILE_BYTES
}

/// Appends a copy of `output` to `copy`.
pub(crate) fn copy(output: &Output, copy: &mut Output) {
    let mut copied = 0;
    for piece in output.files() {
        copy.bytes.put(&output.bytes.as_slice()[copied..piece.after]);
        copied = piece.after;
        copy.put_file(SharedFile::clone(&piece.file), piece.offset_bytes, piece.length);
    }
    copy.bytes.put(&output.bytes.as_slice()[copied..]);
}

#[cfg(test)]
mod tests {
    use std::os::fd::{AsFd, BorrowedFd};
    use std::sync::Arc;

    use buffer::SendableFile;

    use super::*;

    /// A file of which nothing is in memory.
    struct Evicted;

    impl AsFd for Evicted {
        fn as_fd(&self) -> BorrowedFd<'_> {
            unreachable!("nothing here sends")
        }
    }

    impl SendableFile for Evicted {
        fn is_resident(&self, _: u64, _: usize) -> bool {
            false
        }

        fn storage(&self) -> u64 {
            0
        }
    }

    fn output(parts: &[(&[u8], usize)]) -> Output {
        let mut output = Output::new();
        for &(bytes, file_length) in parts {
            output.bytes.put(bytes);
            output.put_file(Arc::new(Evicted), 0, file_length);
        }
        output
    }

    /// What goes out when each send takes up to `step` bytes; file parts appear as `#`.
    fn drain(outbox: &mut Outbox, outputs: &mut Outputs, step: usize) -> String {
        let mut sent = String::new();
        while let Some(next) = outbox.next() {
            match next {
                Next::Bytes => {
                    let mut slices = [IoSlice::new(&[]); MAX_SLICES];
                    let (count, more) = outbox.gather(&mut slices);
                    let gathered: Vec<u8> = slices[..count].iter().flat_map(|slice| slice.to_vec()).collect();
                    if let Some(only) = outbox.only_bytes() {
                        assert_eq!((only, count, more), (&gathered[..], 1, false));
                    }
                    let part = &gathered[..step.min(gathered.len())];
                    sent += std::str::from_utf8(part).unwrap();
                    outbox.sent_bytes(part.len(), outputs);
                }
                Next::File { way: FileWay::Fetch, .. } => {
                    let (_, offset_bytes, length) = outbox.begin_fetch(3).unwrap();
                    assert!(outbox.begin_fetch(3).is_none() && outbox.is_waiting());
                    let mut bytes = Buffer::new();
                    bytes.put(&b"0123456789"[offset_bytes as usize..][..length]);
                    outbox.put_fetched(bytes);
                }
                Next::File { length, .. } => {
                    let part = step.min(length);
                    sent += &"#".repeat(part);
                    outbox.sent_file(part, outputs);
                }
                Next::Fetched { bytes, .. } => {
                    let part = &bytes[..step.min(bytes.len())];
                    sent += std::str::from_utf8(part).unwrap();
                    outbox.sent_file(part.len(), outputs);
                }
            }
        }
        assert_eq!((outbox.unsent_bytes(), outbox.memory_bytes(), outbox.is_empty()), (0, 0, true));
        sent
    }

    #[test]
    fn order_is_kept_however_little_each_send_takes() {
        for step in 1..20 {
            let mut outputs = Outputs::new();
            let mut outbox = Outbox::default();
            outbox.push(output(&[(b"ab", 3), (b"", 0), (b"", 2), (b"cd", 0)]), &mut outputs);
            outbox.push(output(&[(b"", 1)]), &mut outputs);
            let mut last = Output::new();
            last.bytes.put(b"end");
            outbox.push(last, &mut outputs);
            assert_eq!(drain(&mut outbox, &mut outputs, step), "ab#####cd#end");
        }
    }

    #[test]
    fn evicted_part_goes_out_as_it_is_fetched_and_nothing_overtakes_it() {
        for step in 1..12 {
            let mut outputs = Outputs::new();
            let mut outbox = Outbox::default();
            outbox.push(output(&[(b"a", 8)]), &mut outputs);
            let mut last = Output::new();
            last.bytes.put(b"end");
            outbox.push(last, &mut outputs);
            outbox.sent_bytes(1, &mut outputs);
            outbox.set_file_way(FileWay::Fetch);
            let sent = drain(&mut outbox, &mut outputs, step);
            assert_eq!(sent, "012#####end");
        }
    }

    #[test]
    fn part_of_a_file_that_became_shorter_is_zeros() {
        let mut outputs = Outputs::new();
        let mut outbox = Outbox::default();
        outbox.push(output(&[(b"", 8)]), &mut outputs);
        outbox.set_file_way(FileWay::Fetch);
        assert!(outbox.begin_fetch(100).is_some());
        outbox.put_fetched(Buffer::new());
        assert!(matches!(outbox.next(), Some(Next::File { way: FileWay::Zeros, length: 8, .. })));
    }

    #[test]
    fn segments_hold_the_same_bytes_as_one_piece_up_to_the_next_file() {
        let mut outputs = Outputs::new();
        let mut outbox = Outbox::default();
        outbox.push(output(&[(b"abcdefg", 5)]), &mut outputs);
        outbox.sent_bytes(1, &mut outputs);
        let gathered = |segment_bytes, max| {
            let mut segments = Vec::new();
            let more = outbox.gather_segments(segment_bytes, max, &mut segments);
            (segments.iter().map(|segment| segment.to_vec()).collect::<Vec<_>>(), more)
        };
        assert_eq!(gathered(4, 10), (vec![b"bcde".to_vec(), b"fg".to_vec()], true));
        assert_eq!(gathered(4, 1), (vec![b"bcde".to_vec()], true));
        assert_eq!(gathered(usize::MAX, 10), (vec![b"bcdefg".to_vec()], true));
    }

    #[test]
    fn copy_is_one_segment_and_takes_no_other_answer_in() {
        let (mut outbox, mut outputs) = (Outbox::default(), Outputs::new());
        let mut flat = outputs.take_cold(8);
        flat.bytes.put(b"abcdefgh");
        outbox.push_flat(flat);
        outbox.slim(&mut outputs);
        outbox.push(output(&[(b"ijk", 0)]), &mut outputs);
        outbox.sent_bytes(1, &mut outputs);
        let mut segments = Vec::new();
        assert!(!outbox.gather_segments(2, 10, &mut segments));
        let segments: Vec<Vec<u8>> = segments.iter().map(|segment| segment.to_vec()).collect();
        assert_eq!(segments, [b"bcdefgh".to_vec(), b"ij".to_vec(), b"k".to_vec()]);
        outbox.sent_bytes(10, &mut outputs);
        assert_eq!((outbox.is_empty(), outbox.memory_bytes()), (true, 0));
    }

    #[test]
    fn more_is_announced_before_a_file_and_not_at_the_end() {
        let mut outputs = Outputs::new();
        let mut outbox = Outbox::default();
        outbox.push(output(&[(b"head", 5)]), &mut outputs);
        assert_eq!(outbox.gather(&mut [IoSlice::new(&[]); MAX_SLICES]), (1, true));
        outbox.sent_bytes(4, &mut outputs);
        assert!(matches!(outbox.next(), Some(Next::File { length: 5, more: false, .. })));
    }

    #[test]
    fn small_answers_behind_a_waiting_one_share_its_memory() {
        let mut outputs = Outputs::new();
        let mut outbox = Outbox::default();
        for _ in 0..1000 {
            let mut output = outputs.take();
            output.bytes.put(&[b'x'; 100]);
            outbox.push(output, &mut outputs);
        }
        assert_eq!((outbox.queue.len(), outbox.unsent_bytes()), (1, 100_000));
    }

    #[test]
    fn slimming_changes_memory_and_not_what_goes_out() {
        let mut outputs = Outputs::new();
        let mut outbox = Outbox::default();
        let mut wide = output(&[(b"ab", 2), (b"cd", 1)]);
        wide.bytes.put(b"e");
        wide.bytes.space(1 << 20);
        outbox.push(wide, &mut outputs);
        outbox.sent_bytes(1, &mut outputs);
        outbox.slim(&mut outputs);
        assert!(outbox.queue[0].output.bytes.capacity() < 5000);
        assert!(outbox.memory_bytes() < 5000 + 2 * FILE_BYTES);
        assert_eq!(drain(&mut outbox, &mut outputs, 100), "b##cd#e");
    }
}
