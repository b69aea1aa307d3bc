//! Who is who, whatever the interleaving: threads, objects, locations.

pub mod found_objects;
pub mod identity;
pub mod made_functions;
pub mod objects;
pub mod shown_names;
pub mod subclasses;
