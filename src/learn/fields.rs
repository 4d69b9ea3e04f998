//! Which lesson explains a field of a descriptor.

/// Name of a field of the field table, and the lesson that explains it. Reserved bits have
/// none.
pub const FIELD_LESSONS: &[(&str, &str)] = &[("length", "words")];

/// The lesson about a field: its number in the list, from 1, and its name.
pub fn lesson_of(field: &str) -> Option<(usize, &'static str)> {
    let name = FIELD_LESSONS.iter().find(|f| f.0 == field)?.1;
    Some((super::bundled::find(name)? + 1, name))
}
