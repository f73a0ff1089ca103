//! What was used lately, by a number: a place holds the last one of all numbers that share it.

/// A bounded cache.
pub(crate) struct Lately<T> {
    places: Vec<Option<(u64, T)>>,
}

impl<T> Lately<T> {
    /// Makes a cache with so many places.
    pub(crate) fn new(places: usize) -> Lately<T> {
        Lately { places: std::iter::repeat_with(|| None).take(places.max(1)).collect() }
    }

    /// What was last kept under a number, unless something else has its place.
    pub(crate) fn get(&self, number: u64) -> Option<&T> {
        self.places[self.place(number)].as_ref().filter(|(kept, _)| *kept == number).map(|(_, value)| value)
    }

    /// Keeps a value.
    pub(crate) fn put(&mut self, number: u64, value: T) {
        let place = self.place(number);
        self.places[place] = Some((number, value));
    }

    /// Drops what is kept under a number.
    pub(crate) fn remove(&mut self, number: u64) {
        let place = self.place(number);
        self.places[place].take_if(|(kept, _)| *kept == number);
    }

    fn place(&self, number: u64) -> usize {
        (number % self.places.len() as u64) as usize
    }
}
