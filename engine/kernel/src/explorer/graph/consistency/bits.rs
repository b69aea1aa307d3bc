//! Relations over the events of a graph, as rows of bits.

#[derive(Clone)]
pub struct Relation {
    words: usize,
    bits: Vec<u64>,
}

impl Relation {
    pub fn new(size: usize) -> Relation {
        let words = size.div_ceil(64).max(1);
        Relation { words, bits: vec![0; words * size] }
    }

    #[inline]
    pub fn set(&mut self, row: usize, column: usize) {
        self.bits[row * self.words + column / 64] |= 1 << (column % 64);
    }

    #[inline]
    pub fn has(&self, row: usize, column: usize) -> bool {
        self.bits[row * self.words + column / 64] >> (column % 64) & 1 == 1
    }

    /// Add all of `other`'s row to a row.
    pub fn join(&mut self, row: usize, other: usize) {
        for word in 0..self.words {
            self.bits[row * self.words + word] |= self.bits[other * self.words + word];
        }
    }

    /// Whether the relation has no cycle, the events being its rows.
    pub fn is_acyclic(&self) -> bool {
        let size = self.bits.len() / self.words;
        // Most relations lead from earlier to later events, so that one pass from the last is enough.
        let mut left: Vec<usize> = (0..size).rev().collect();
        // Take away what nothing that is left leads from, until nothing is left or all lead on.
        let mut alive = vec![0u64; self.words];
        for event in 0..size {
            alive[event / 64] |= 1 << (event % 64);
        }
        loop {
            let before = left.len();
            left.retain(|event| {
                let row = &self.bits[event * self.words..(event + 1) * self.words];
                let leads_on = row.iter().zip(&alive).any(|(bits, alive)| bits & alive != 0);
                if !leads_on {
                    alive[event / 64] &= !(1 << (event % 64));
                }
                leads_on
            });
            if left.is_empty() {
                return true;
            }
            if left.len() == before {
                return false;
            }
        }
    }
}
