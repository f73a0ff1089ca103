/// What becomes of the replies: the input's first byte of each step says how many replies pass by before, the second
/// what is done to the next one.
#[derive(Debug)]
pub struct Alterations {
    input: Vec<u8>,
    at: usize,
    /// How many replies pass by as they are; None once the input is used up.
    passing: Option<u8>,
}

/// What goes to the client instead of a reply.
pub enum Sent {
    /// This message.
    Message(Vec<u8>),
    /// These bytes, which need be no record.
    Bytes(Vec<u8>),
    /// Nothing.
    Nothing,
    /// The beginning of the record, and then the end of the stream.
    Cut(usize),
    /// The message as often.
    Times(u8),
}

/// The header of a reply that was carried out, in bytes (RFC 5531 §9).
pub const HEADER_BYTES: usize = 24;

impl Alterations {
    pub fn new(input: &[u8]) -> Alterations {
        let mut new = Alterations { input: input.to_vec(), at: 0, passing: None };
        new.passing = new.byte();
        new
    }

    fn byte(&mut self) -> Option<u8> {
        let byte = self.input.get(self.at).copied();
        self.at += 1;
        byte
    }

    fn word(&mut self) -> [u8; 4] {
        std::array::from_fn(|_| self.byte().unwrap_or(0xff))
    }

    fn take(&mut self, count: usize) -> Vec<u8> {
        (0..count).map_while(|_| self.byte()).collect()
    }

    /// What is sent in the place of `reply`.
    pub fn next(&mut self, reply: Vec<u8>) -> Sent {
        match self.passing {
            None => return Sent::Message(reply),
            Some(left @ 1..) => {
                self.passing = Some(left - 1);
                return Sent::Message(reply);
            }
            Some(0) => {}
        }
        let sent = self.alter(reply);
        self.passing = self.byte();
        sent
    }

    fn alter(&mut self, mut reply: Vec<u8>) -> Sent {
        let (kind, place) = (self.byte().unwrap_or(0) % 12, usize::from(self.byte().unwrap_or(0)));
        let offset = (HEADER_BYTES + 4 * place).min(reply.len());
        match kind {
            // The input itself, behind a header that makes it a reply.
            0 | 1 => {
                reply.truncate(HEADER_BYTES.min(reply.len()));
                reply.extend(self.take(4 * place));
            }
            2 | 3 => write(&mut reply, offset, self.word()),
            4 => write(&mut reply, offset, [0xff; 4]),
            5 => write(&mut reply, offset, [0; 4]),
            6 => reply.truncate(offset),
            7 => reply.extend(self.take(place)),
            8 => write(&mut reply, 4 * place % (HEADER_BYTES + 4), self.word()),
            9 => return Sent::Bytes(self.take(place)),
            10 => return Sent::Cut(place),
            _ => return if place.is_multiple_of(2) { Sent::Nothing } else { Sent::Times(place as u8 % 8) },
        }
        Sent::Message(reply)
    }
}

fn write(reply: &mut [u8], offset: usize, word: [u8; 4]) {
    if let Some(place) = reply.get_mut(offset..offset + 4) {
        place.copy_from_slice(&word);
    }
}
