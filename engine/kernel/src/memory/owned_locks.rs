//! Locks that belong to owners rather than threads, as those of `flock` belong to open files: one owner alone, or
//! several that share.

use rustc_hash::FxHashMap;

use super::{Effect, PrimitiveState, Primitives};
use crate::operation::{LocationId, Operation};

/// Who wants a lock, or gives it up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Claim {
    pub owner: u32,
    /// Whether nobody else may hold it.
    pub alone: bool,
}

impl Claim {
    /// What an operation has in its `detail`.
    pub fn detail(self) -> u32 {
        self.owner << 1 | u32::from(self.alone)
    }

    pub fn of(operation: &Operation) -> Claim {
        Claim { owner: operation.detail >> 1, alone: operation.detail & 1 == 1 }
    }
}

/// What came of a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Outcome {
    /// Others hold the lock, or there was nothing to give up.
    Refused,
    Taken,
    /// The owner held the lock in the other way, and has given that up. To change the way is two steps: another owner
    /// may take the lock between them.
    Dropped,
    /// The owner held it so already.
    Kept,
}

impl Outcome {
    pub fn effect(self) -> Effect {
        Effect::Done(self as u32)
    }

    pub fn of(effect: Effect) -> Outcome {
        match effect {
            Effect::Done(1) => Outcome::Taken,
            Effect::Done(2) => Outcome::Dropped,
            Effect::Done(3) => Outcome::Kept,
            _ => Outcome::Refused,
        }
    }
}

/// A set of owners that hold one lock, each alone or not: the same number for the same set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct HoldersId(u32);

impl HoldersId {
    /// Nobody holds it.
    pub const NOBODY: HoldersId = HoldersId(0);

    /// The number as the token of a state, which events keep.
    pub fn token(self) -> u32 {
        self.0
    }

    pub fn from_token(token: u32) -> HoldersId {
        HoldersId(token)
    }
}

/// Owners, in order, and whether each holds the lock alone.
type Holders = Vec<(u32, bool)>;

/// All sets that there have been. They outlive executions, since tokens are compared across them.
pub struct HolderSets {
    sets: Vec<Holders>,
    known: FxHashMap<Holders, HoldersId>,
}

impl Default for HolderSets {
    fn default() -> HolderSets {
        let nobody = (Holders::new(), HoldersId::NOBODY);
        HolderSets { sets: vec![Holders::new()], known: FxHashMap::from_iter([nobody]) }
    }
}

impl HolderSets {
    fn get(&self, id: HoldersId) -> &[(u32, bool)] {
        self.sets.get(id.0 as usize).map_or(&[], Vec::as_slice)
    }

    fn id(&mut self, mut holders: Holders) -> HoldersId {
        holders.sort_unstable();
        if let Some(id) = self.known.get(&holders) {
            return *id;
        }
        let id = HoldersId(self.sets.len() as u32);
        self.sets.push(holders.clone());
        self.known.insert(holders, id);
        id
    }

    /// How an owner holds the lock.
    fn held(&self, id: HoldersId, owner: u32) -> Option<bool> {
        self.get(id).iter().find(|(holder, _)| *holder == owner).map(|(_, alone)| *alone)
    }

    /// Whether an acquisition can take a step: its owner holds the lock, in whatever way, or nobody is in its way.
    pub fn admits(&self, id: HoldersId, claim: Claim) -> bool {
        self.held(id, claim.owner).is_some() || self.get(id).iter().all(|(_, alone)| !claim.alone && !alone)
    }
}

impl Primitives {
    fn holders(&self, location: LocationId) -> HoldersId {
        match self.get(location) {
            Some(PrimitiveState::Owned { holders }) => *holders,
            _ => HoldersId::NOBODY,
        }
    }

    pub(super) fn admits(&self, operation: &Operation) -> bool {
        self.holder_sets.admits(self.holders(operation.target), Claim::of(operation))
    }

    /// An acquisition takes its step.
    pub(super) fn claim(&mut self, operation: &Operation) -> Effect {
        let claim = Claim::of(operation);
        let id = self.holders(operation.target);
        let outcome = match self.holder_sets.held(id, claim.owner) {
            Some(alone) if alone == claim.alone => Outcome::Kept,
            Some(_) => {
                self.set_holders(operation.target, self.without(id, claim.owner));
                Outcome::Dropped
            }
            None if !self.admits(operation) => Outcome::Refused,
            None => {
                let mut holders = self.without(id, claim.owner);
                holders.push((claim.owner, claim.alone));
                self.set_holders(operation.target, holders);
                Outcome::Taken
            }
        };
        outcome.effect()
    }

    pub(super) fn give_up(&mut self, operation: &Operation) -> Effect {
        let Claim { owner, .. } = Claim::of(operation);
        let id = self.holders(operation.target);
        let held = self.holder_sets.held(id, owner).is_some();
        self.set_holders(operation.target, self.without(id, owner));
        if held { Outcome::Taken } else { Outcome::Refused }.effect()
    }

    fn without(&self, id: HoldersId, owner: u32) -> Holders {
        self.holder_sets.get(id).iter().copied().filter(|(holder, _)| *holder != owner).collect()
    }

    fn set_holders(&mut self, location: LocationId, now: Holders) {
        let now = self.holder_sets.id(now);
        if let Some(PrimitiveState::Owned { holders }) = self.get_mut(location) {
            *holders = now;
        }
    }
}
