/// How many calls may be in flight over datagrams, where nothing else avoids congestion.
///
/// The window grows by one per window of replies and halves on a timeout: additive increase, multiplicative decrease.
#[derive(Debug)]
pub(super) struct Window {
    limit: usize,
    replies: usize,
}

impl Window {
    /// The first window, before anything is known of the network: its datagrams fit in every socket's default buffer.
    const FIRST: usize = 8;
    /// One call at a time still makes progress.
    const MIN: usize = 1;
    /// Past this a socket's buffer overflows before the network does.
    const MAX: usize = 256;

    pub(super) fn new() -> Window {
        Window { limit: Self::FIRST, replies: 0 }
    }

    pub(super) fn limit(&self) -> usize {
        self.limit
    }

    pub(super) fn on_reply(&mut self) {
        self.replies += 1;
        if self.replies >= self.limit {
            self.limit = (self.limit + 1).min(Self::MAX);
            self.replies = 0;
        }
    }

    pub(super) fn on_timeout(&mut self) {
        self.limit = (self.limit / 2).max(Self::MIN);
        self.replies = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn window_never_closes_and_never_grows_past_its_limit() {
        let mut window = Window::new();
        (0..100).for_each(|_| window.on_timeout());
        assert_eq!(window.limit(), Window::MIN);
        (0..100_000).for_each(|_| window.on_reply());
        assert_eq!(window.limit(), Window::MAX);
    }
}
