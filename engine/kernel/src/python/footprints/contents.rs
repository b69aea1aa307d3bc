//! What is known of the contents of objects: which of them operations look at in more than one way.

use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;

use crate::operation::LocationId;
use crate::python::footprints::fixed_containers::ContainerFacts;
use crate::python::hooks::instance_dicts::InstanceDicts;
use crate::python::identities::identity::ObjectId;
use crate::python::identities::shown_names::Shown;

/// What is known from all executions so far.
#[derive(Default)]
pub struct Contents {
    pub containers: ContainerFacts,
    pub instance_dicts: InstanceDicts,
    pub nesting: Nesting,
    pub shown: Shown,
}

/// Objects that race inside of others that race.
#[derive(Default)]
pub struct Nesting {
    /// Locations inside of such objects, which operations on the whole of these read in some of their places only.
    reads: FxHashMap<LocationId, SmallVec<[ObjectId; 1]>>,
    objects: FxHashSet<ObjectId>,
}

impl Nesting {
    /// An operation on `owner` as a whole reads the location, depending on its place. Returns whether that is news.
    pub fn note(&mut self, location: LocationId, owner: ObjectId) -> bool {
        self.objects.insert(owner);
        let known = self.reads.entry(location).or_default();
        let news = !known.contains(&owner);
        if news {
            known.push(owner);
        }
        news
    }

    pub fn is_empty(&self) -> bool {
        self.reads.is_empty()
    }

    /// The objects of which an operation on the whole may read the location.
    pub fn owners(&self, location: LocationId) -> &[ObjectId] {
        self.reads.get(&location).map_or(&[], SmallVec::as_slice)
    }

    pub fn contains(&self, object: ObjectId) -> bool {
        self.objects.contains(&object)
    }
}
