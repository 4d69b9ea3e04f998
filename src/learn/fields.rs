//! Which lesson explains a field of a descriptor.

/// Name of a field of the field table, and the lesson that explains it. Every field has one but
/// reserved bits, which mean nothing.
pub const FIELD_LESSONS: &[(&str, &str)] = &[
    ("length", "words"),
    ("ring_id", "wrap"),
    ("first", "packets"),
    ("last", "packets"),
    ("concat", "packets"),
    ("int_en", "marker"),
    ("dmb", "barriers"),
    ("write_barrier", "barriers"),
    ("strong_order", "barriers"),
    ("buf_ptr", "pair"),
    ("buf2_ptr_lo", "pair"),
    ("ssmae_op", "compute"),
    ("op_type", "compute"),
    ("copy_source_data", "compute"),
    ("is_first_block", "compute"),
    ("is_last_block", "compute"),
    ("store_source_crc", "compute"),
    ("store_crc_result", "compute"),
    ("send_crc_result", "compute"),
    ("use_stored_crc_iv", "compute"),
    ("validate_crc", "compute"),
    ("swap_ctrl", "compute"),
    ("crc_iv_index", "compute"),
    ("notification", "compute"),
    ("meta", "compute"),
    ("meta_index_hi", "compute"),
    ("meta_index_lo", "compute"),
    ("meta1", "compute"),
    ("meta2", "compute"),
];

/// The lesson about a field: its number in the list, from 1, and its name.
pub fn lesson_of(field: &str) -> Option<(usize, &'static str)> {
    let name = FIELD_LESSONS.iter().find(|f| f.0 == field)?.1;
    Some((super::bundled::find(name)? + 1, name))
}
