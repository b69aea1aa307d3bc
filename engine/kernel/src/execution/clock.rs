//! Vector clocks of all events of an execution, in one growing table.
//!
//! Row `e`, column `t` counts the events of thread `t` that happen before or are `e`. The table keeps its memory
//! between executions; backtracking only shortens it.

use crate::operation::{EventId, ThreadId};

#[derive(Default)]
pub struct ClockTable {
    cells: Vec<u32>,
    width: usize,
    rows: usize,
}

impl ClockTable {
    pub fn width(&self) -> usize {
        self.width
    }

    pub fn row(&self, event: EventId) -> &[u32] {
        let start = event.index() * self.width;
        &self.cells[start..start + self.width]
    }

    /// How many events of `thread` happen before or are `event`.
    #[inline]
    pub fn count(&self, event: EventId, thread: ThreadId) -> u32 {
        if thread.index() < self.width {
            self.cells[event.index() * self.width + thread.index()]
        } else {
            0
        }
    }

    /// Append a row; threads that the table does not know yet get a column.
    pub fn push(&mut self, clock: &[u32]) {
        if clock.len() > self.width {
            self.widen(clock.len());
        }
        self.cells.extend_from_slice(clock);
        self.cells.resize((self.rows + 1) * self.width, 0);
        self.rows += 1;
    }

    pub fn truncate(&mut self, rows: usize) {
        self.rows = self.rows.min(rows);
        self.cells.truncate(self.rows * self.width);
    }

    fn widen(&mut self, least: usize) {
        let width = least.next_power_of_two().max(4);
        let mut cells = vec![0; self.rows * width];
        for row in 0..self.rows {
            let old = &self.cells[row * self.width..(row + 1) * self.width];
            cells[row * width..row * width + self.width].copy_from_slice(old);
        }
        self.cells = cells;
        self.width = width;
    }
}

/// Make `clock` the pointwise maximum of itself and `other`.
#[inline]
pub fn join(clock: &mut Vec<u32>, other: &[u32]) {
    if clock.len() < other.len() {
        clock.resize(other.len(), 0);
    }
    for (mine, theirs) in clock.iter_mut().zip(other) {
        if *theirs > *mine {
            *mine = *theirs;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_of_more_threads_widens_the_table_and_keeps_what_was_known() {
        let mut table = ClockTable::default();
        table.push(&[1]);
        table.push(&[1, 2, 3]);
        table.push(&[0, 0, 0, 0, 7]);
        assert_eq!(table.count(EventId(0), ThreadId(0)), 1);
        assert_eq!(table.count(EventId(1), ThreadId(2)), 3);
        assert_eq!(table.count(EventId(2), ThreadId(4)), 7);
        assert_eq!(table.count(EventId(0), ThreadId(4)), 0);
        assert_eq!(table.count(EventId(0), ThreadId(1000)), 0, "a thread that no row knows");
    }

    #[test]
    fn rows_pushed_after_a_truncation_replace_the_old_ones() {
        let mut table = ClockTable::default();
        table.push(&[1, 1]);
        table.push(&[2, 2]);
        table.truncate(1);
        table.truncate(5);
        table.push(&[3]);
        assert_eq!(table.row(EventId(0))[..2], [1, 1]);
        assert_eq!(table.row(EventId(1))[..2], [3, 0]);
    }

    #[test]
    fn join_is_the_pointwise_maximum() {
        let mut clock = vec![3, 1];
        join(&mut clock, &[2, 4, 5]);
        assert_eq!(clock, [3, 4, 5]);
        join(&mut clock, &[]);
        assert_eq!(clock, [3, 4, 5]);
    }
}
