//! The calls of QPOR's `Explore(C, D, A)` that are under way, each with the part of `U` that can matter to it.
//!
//! An event e that is disabled comes with its kept conflicts: the events in immediate conflict with it that were seen
//! while C ∪ {e} was explored. Further down, where C has more events, only those are of use that agree with these and
//! need nothing of D. Levels are made far more often than anything is asked of them, so the conflicts of a level are
//! narrowed to those of use when they are asked for, level by level from where that was done last.

use std::rc::Rc;

use rustc_hash::FxHashSet;

use super::event_structure::{EventStructure, Number};

/// The place above an event that was disabled at its own level.
const HERE: u32 = u32::MAX;

/// An event of D at one level.
struct Disabled {
    event: Number,
    conflicts: Rc<[Number]>,
    /// Its index in D of the level above, HERE if it was disabled at this level.
    above: u32,
    /// Whether the conflicts agree with C of this level, not only of a level above.
    agrees: bool,
    /// How many events of D at this level none of the conflicts needs.
    unneeded: u32,
}

/// One call of `Explore`.
#[derive(Default)]
pub struct Level {
    /// D, without what C is in conflict with: what was disabled at levels above, then what was disabled here.
    disabled: Vec<Disabled>,
    inherited: usize,
    /// A, in the order in which it can be added.
    pub add: Vec<Number>,
    /// The conflicts so far for the event that comes after C.
    found: Vec<Number>,
    known: FxHashSet<Number>,
}

impl Level {
    /// The call that explores C with `next` added, and with `add` left to be added.
    pub fn after(&self, next: Number, add: Vec<Number>, structure: &EventStructure) -> Level {
        // What is in conflict with C can never occur again.
        let remains = |(_, disabled): &(usize, &Disabled)| !structure.depends(disabled.event, next);
        let inherit = |(above, disabled): (usize, &Disabled)| Disabled {
            event: disabled.event,
            conflicts: disabled.conflicts.clone(),
            above: above as u32,
            agrees: false,
            unneeded: 0,
        };
        let disabled: Vec<Disabled> = self.disabled.iter().enumerate().filter(remains).map(inherit).collect();
        Level { inherited: disabled.len(), disabled, add, ..Level::default() }
    }

    /// Note an event in immediate conflict with the one that comes after C.
    pub fn note(&mut self, conflict: Number) {
        if self.known.insert(conflict) {
            self.found.push(conflict);
        }
    }

    /// Disable the event that came after C.
    pub fn disable(&mut self, event: Number) {
        let conflicts = std::mem::take(&mut self.found).into();
        self.known.clear();
        self.disabled.push(Disabled { event, conflicts, above: HERE, agrees: true, unneeded: 0 });
    }

    /// D, in the order in which it was disabled.
    pub fn disabled(&self) -> impl ExactSizeIterator<Item = Number> + DoubleEndedIterator + '_ {
        self.disabled.iter().map(|disabled| disabled.event)
    }

    /// How many events were disabled at this level.
    pub fn explored(&self) -> usize {
        self.disabled.len() - self.inherited
    }

    /// The events that are in use at this level and at none above.
    pub fn events(&self) -> impl Iterator<Item = Number> + '_ {
        let own = self.disabled[self.inherited..].iter();
        let own = own.flat_map(|disabled| std::iter::once(&disabled.event).chain(disabled.conflicts.iter()));
        own.chain(&self.add).chain(&self.found).copied()
    }

    /// Leave out the conflicts that need an event that was disabled since this was done last.
    fn leave_out_disabled(&mut self, index: usize, structure: &EventStructure) {
        let all = self.disabled.len();
        let new = &self.disabled[self.disabled[index].unneeded as usize..];
        let needed = |conflict: &Number| new.iter().any(|disabled| structure.contains(*conflict, disabled.event));
        let conflicts = &self.disabled[index].conflicts;
        if conflicts.iter().any(needed) {
            let conflicts = conflicts.iter().copied().filter(|conflict| !needed(conflict)).collect();
            self.disabled[index].conflicts = conflicts;
        }
        self.disabled[index].unneeded = all as u32;
    }
}

/// The conflicts for the event at `index` of D at the last level that agree with C and need nothing of D.
/// `configuration` is C in order, of which each event has a level in front of it.
pub fn conflicts<'a>(
    levels: &'a mut [Level],
    index: usize,
    structure: &EventStructure,
    configuration: &[Number],
) -> &'a [Number] {
    let last = levels.len() - 1;
    let mut indexes = vec![index];
    let mut level = last;
    while let Some(&index) = indexes.last() {
        let disabled = &levels[level].disabled[index];
        if disabled.agrees {
            break;
        }
        indexes.push(disabled.above as usize);
        level -= 1;
    }
    let first = indexes.pop().unwrap_or(index);
    levels[level].leave_out_disabled(first, structure);
    let mut above = first;
    while let Some(index) = indexes.pop() {
        let (shorter, longer) = levels.split_at_mut(level + 1);
        let conflicts = &shorter[level].disabled[above].conflicts;
        let next = configuration[level];
        let agrees = |conflict: &Number| structure.agrees_after(*conflict, level as u32, next);
        let narrowed = if conflicts.iter().all(agrees) {
            conflicts.clone()
        } else {
            conflicts.iter().copied().filter(agrees).collect()
        };
        level += 1;
        let here = &mut longer[0];
        let inherited = here.inherited as u32;
        let disabled = &mut here.disabled[index];
        (disabled.conflicts, disabled.agrees, disabled.unneeded) = (narrowed, true, inherited);
        here.leave_out_disabled(index, structure);
        above = index;
    }
    &levels[last].disabled[index].conflicts
}
