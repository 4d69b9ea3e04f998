//! Protocol buffers, as much as writing a trace takes: tags, numbers, texts, nested messages.
//! The encoding is public; a test reads what is written with a reader made from the format's own
//! definitions.

/// Appends a base-128 number.
pub fn varint(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// Appends a whole number under a field number.
pub fn uint(out: &mut Vec<u8>, field: u32, value: u64) {
    varint(out, u64::from(field) << 3);
    varint(out, value);
}

/// Appends eight bytes under a field number.
pub fn fixed64(out: &mut Vec<u8>, field: u32, value: u64) {
    varint(out, u64::from(field) << 3 | 1);
    out.extend_from_slice(&value.to_le_bytes());
}

/// Appends a text under a field number.
pub fn text(out: &mut Vec<u8>, field: u32, value: &str) {
    varint(out, u64::from(field) << 3 | 2);
    varint(out, value.len() as u64);
    out.extend_from_slice(value.as_bytes());
}

/// Appends a message under a field number; `body` appends what is in it.
pub fn message(out: &mut Vec<u8>, field: u32, body: impl FnOnce(&mut Vec<u8>)) {
    varint(out, u64::from(field) << 3 | 2);
    let at = out.len();
    // Mostly one byte is enough for the length; otherwise the body moves up.
    out.push(0);
    body(out);
    let len = out.len() - at - 1;
    if len < 0x80 {
        out[at] = len as u8;
        return;
    }
    let mut long = Vec::with_capacity(10);
    varint(&mut long, len as u64);
    out.splice(at..=at, long);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_lengths_take_as_many_bytes_as_they_need() {
        let mut out = Vec::new();
        uint(&mut out, 1, 150);
        assert_eq!(out, [0x08, 0x96, 0x01]);
        out.clear();
        message(&mut out, 2, |o| text(o, 1, &"x".repeat(200)));
        assert_eq!(out[..6], [0x12, 0xcb, 0x01, 0x0a, 0xc8, 0x01]);
        assert_eq!(out.len(), 206);
        out.clear();
        fixed64(&mut out, 47, 1);
        assert_eq!(out, [0xf9, 0x02, 1, 0, 0, 0, 0, 0, 0, 0]);
    }
}
