//! Locks of owners in every state that three owners can bring about: what the memory model says of two operations
//! against the definition of `flock`, and of each other in both orders.

use std::collections::BTreeMap;

use _kernel::execution::Event;
use _kernel::memory::{Claim, HoldersId, MemoryModel, Outcome, PrimitiveState, SequentialConsistency};
use _kernel::operation::{accesses_conflict, Accesses, EventId, LocationId, Operation, OperationKind, ThreadId};
use OperationKind::{OwnedAcquire, OwnedRelease, OwnedTryAcquire};

const OWNERS: [u32; 3] = [5, 6, 9];
const LOCK: LocationId = LocationId(2);
const THREAD: ThreadId = ThreadId(1);

/// The owners that hold the lock, and whether alone.
type Holders = BTreeMap<u32, bool>;

/// What `flock` does for an owner; None if it waits. A change of the way is two steps, of which this is the first.
fn flock(holders: &Holders, kind: OperationKind, claim: Claim) -> Option<(Outcome, Holders)> {
    let mut after = holders.clone();
    let held = after.remove(&claim.owner);
    if kind == OwnedRelease {
        return Some((if held.is_some() { Outcome::Taken } else { Outcome::Refused }, after));
    }
    match held {
        Some(alone) if alone == claim.alone => Some((Outcome::Kept, holders.clone())),
        Some(_) => Some((Outcome::Dropped, after)),
        None if after.is_empty() || !claim.alone && after.values().all(|alone| !alone) => {
            after.insert(claim.owner, claim.alone);
            Some((Outcome::Taken, after))
        }
        None if kind == OwnedTryAcquire => Some((Outcome::Refused, after)),
        None => None,
    }
}

/// All operations of all owners.
fn operations() -> Vec<(OperationKind, Claim)> {
    let mut all = Vec::new();
    for owner in OWNERS {
        for alone in [false, true] {
            all.push((OwnedAcquire, Claim { owner, alone }));
            all.push((OwnedTryAcquire, Claim { owner, alone }));
        }
        all.push((OwnedRelease, Claim { owner, alone: false }));
    }
    all
}

fn operation((kind, claim): (OperationKind, Claim)) -> Operation {
    Operation::new(kind, LOCK, claim.detail())
}

/// A memory model of which the lock is in one state.
struct Lock(SequentialConsistency);

impl Lock {
    /// The state in which these owners hold the lock.
    fn held_by(holders: &Holders) -> Lock {
        let mut lock = Lock(SequentialConsistency::default());
        lock.0.create(LOCK, PrimitiveState::Owned { holders: HoldersId::NOBODY });
        for (&owner, &alone) in holders {
            assert_eq!(lock.perform((OwnedAcquire, Claim { owner, alone })), Some(Outcome::Taken));
        }
        lock
    }

    fn enables(&self, step: (OperationKind, Claim)) -> bool {
        self.0.enabled(THREAD, &operation(step))
    }

    fn accesses(&self, step: (OperationKind, Claim)) -> Accesses {
        self.0.accesses(THREAD, &operation(step))
    }

    /// What an operation gives; None if it waits.
    fn perform(&mut self, step: (OperationKind, Claim)) -> Option<Outcome> {
        self.enables(step).then(|| Outcome::of(self.0.perform(THREAD, &operation(step), EventId(0))))
    }

    fn event(&self, number: u32, step: (OperationKind, Claim)) -> Event {
        let operation = operation(step);
        let mut event = Event::of_load(THREAD, number, operation);
        (event.id, event.accesses) = (EventId(number), self.accesses(step));
        event.before = self.0.state_token(&operation);
        event
    }

    fn state(&self) -> Option<&PrimitiveState> {
        self.0.primitives().get(LOCK)
    }
}

/// Every set of holders that operations lead to.
fn reachable() -> Vec<Holders> {
    let mut found = vec![Holders::new()];
    let mut next = 0;
    while let Some(holders) = found.get(next).cloned() {
        next += 1;
        for (kind, claim) in operations() {
            if let Some((_, after)) = flock(&holders, kind, claim) {
                if !found.contains(&after) {
                    found.push(after);
                }
            }
        }
    }
    found
}

#[test]
fn every_operation_does_in_every_state_what_flock_does() {
    let states = reachable();
    // Each subset that shares, and each owner alone.
    assert_eq!(states.len(), 8 + 3);
    for holders in states {
        for step in operations() {
            let mut lock = Lock::held_by(&holders);
            let before = lock.state().cloned();
            let reads = lock.accesses(step).iter().all(|access| !access.mode.conflicts(access.mode));
            let expected = flock(&holders, step.0, step.1);
            let outcome = lock.perform(step);
            assert_eq!(outcome, expected.as_ref().map(|(outcome, _)| *outcome), "{step:?} of {holders:?}");
            if let Some((_, after)) = expected {
                assert_eq!(
                    lock.0.state_token(&operation(step)),
                    token_of(&after, &mut lock),
                    "{step:?} of {holders:?}"
                );
                assert!(!reads || lock.state().cloned() == before, "{step:?} of {holders:?} reads");
            }
        }
    }
}

/// The token of a state, by bringing it about in the same memory model.
fn token_of(holders: &Holders, lock: &mut Lock) -> u32 {
    lock.0.create(LOCK, PrimitiveState::Owned { holders: HoldersId::NOBODY });
    for (&owner, &alone) in holders.iter().rev() {
        lock.perform((OwnedAcquire, Claim { owner, alone }));
    }
    lock.0.state_token(&operation((OwnedRelease, Claim { owner: OWNERS[0], alone: false })))
}

#[test]
fn operations_that_do_not_conflict_commute_and_leave_each_other_enabled() {
    let mut independent = 0;
    for holders in reachable() {
        for first in operations() {
            for second in operations() {
                let (mut one, mut other) = (Lock::held_by(&holders), Lock::held_by(&holders));
                if accesses_conflict(&one.accesses(first), &one.accesses(second)) {
                    continue;
                }
                let alone = (Lock::held_by(&holders).perform(first), Lock::held_by(&holders).perform(second));
                let in_order = (one.perform(first), one.perform(second));
                let (later, sooner) = (other.perform(second), other.perform(first));
                assert_eq!((in_order, (sooner, later)), (alone, alone), "{first:?} and {second:?} of {holders:?}");
                assert_eq!(one.state(), other.state(), "{first:?} and {second:?} of {holders:?}");
                independent += 1;
            }
        }
    }
    assert!(independent > 0);
}

#[test]
fn what_an_event_would_have_been_before_another_is_what_it_is_there() {
    for holders in reachable() {
        for first in operations() {
            for second in operations() {
                let mut lock = Lock::held_by(&holders);
                let (enabled, accesses) = (lock.enables(second), lock.accesses(second));
                let earlier = lock.event(0, first);
                if lock.perform(first).is_none() {
                    continue;
                }
                let event = lock.event(1, second);
                if !accesses_conflict(&earlier.accesses, &event.accesses) {
                    continue;
                }
                assert_eq!(lock.0.enabled_before(&event, &earlier), enabled, "{second:?}, {first:?} of {holders:?}");
                assert_eq!(
                    lock.0.accesses_before(&event, &earlier),
                    accesses,
                    "{second:?}, {first:?} of {holders:?}"
                );
                let there = lock.0.accesses_in_state_of(&event, &earlier);
                assert_eq!(there, accesses, "{second:?}, {first:?} of {holders:?}");
            }
        }
    }
}
