use xdr::{Decode, Decoder, Encode, Encoder};

use super::Time;

/// The number that keeps an attribute: -1 (RFC 1094 §2.3.6).
const DONT_CHANGE: u32 = u32::MAX;
/// Invalid microseconds by which clients since SunOS request the server's time.
const SERVER_TIME: u32 = 1_000_000;

/// Attributes to set (RFC 1094 §2.3.6, `sattr`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Sattr {
    /// The permission bits.
    pub mode: Option<u32>,
    /// The owner.
    pub uid: Option<u32>,
    /// The owning group.
    pub gid: Option<u32>,
    /// The length in bytes.
    pub size: Option<u32>,
    /// The access time.
    pub accessed: SetTime,
    /// The modification time.
    pub modified: SetTime,
}

/// The way to set a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum SetTime {
    /// The time stays: one of its two numbers is -1.
    #[default]
    DontChange,
    /// To the server's time.
    ServerTime {
        /// The client's time in seconds, for servers without this extension.
        seconds: u32,
    },
    /// To this time.
    ClientTime(Time),
}

impl Encode for Sattr {
    fn encode(&self, to: &mut Encoder<'_>) {
        for word in [self.mode, self.uid, self.gid, self.size] {
            to.u32(word.unwrap_or(DONT_CHANGE));
        }
        self.accessed.encode(to);
        self.modified.encode(to);
    }
}

impl<'a> Decode<'a> for Sattr {
    fn decode(from: &mut Decoder<'a>) -> xdr::Result<Self> {
        Ok(Sattr {
            mode: decode_word(from)?,
            uid: decode_word(from)?,
            gid: decode_word(from)?,
            size: decode_word(from)?,
            accessed: SetTime::decode(from)?,
            modified: SetTime::decode(from)?,
        })
    }
}

impl Encode for SetTime {
    fn encode(&self, to: &mut Encoder<'_>) {
        let time = match *self {
            SetTime::DontChange => Time { seconds: DONT_CHANGE, microseconds: DONT_CHANGE },
            SetTime::ServerTime { seconds } => Time { seconds, microseconds: SERVER_TIME },
            SetTime::ClientTime(time) => time,
        };
        time.encode(to);
    }
}

impl<'a> Decode<'a> for SetTime {
    fn decode(from: &mut Decoder<'a>) -> xdr::Result<Self> {
        Ok(match Time::decode(from)? {
            Time { seconds: DONT_CHANGE, .. } | Time { microseconds: DONT_CHANGE, .. } => SetTime::DontChange,
            Time { seconds, microseconds: SERVER_TIME } => SetTime::ServerTime { seconds },
            time => SetTime::ClientTime(time),
        })
    }
}

fn decode_word(from: &mut Decoder<'_>) -> xdr::Result<Option<u32>> {
    Ok(Some(from.u32()?).filter(|word| *word != DONT_CHANGE))
}
