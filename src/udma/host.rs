//! The host side of the interface, as far as it is numbers: request codes that user space
//! launches work with, and the handles of copies (`docs/driver.md`, "User space").

use super::builder::Errno;

/// Type letter of the driver's requests.
pub const REQUEST_TYPE: u8 = b'N';
/// The whole code of the copy-start request.
pub const COPY_START_CODE: u32 = 0x8008_4e23;

/// The requests that concern queues: (number, name).
pub static REQUESTS: &[(u8, &str)] = &[
    (33, "queue init"),
    (34, "queue release"),
    (35, "copy start"),
    (36, "ack"),
    (37, "queue state"),
    (38, "descriptor copy-in"),
    (39, "descriptor copy-out"),
];

/// The name of a request from its whole code or its bare number.
pub fn request_name(code: u32) -> Option<&'static str> {
    let number = (code & 0xff) as u8;
    let fits = code < 0x100 || (code >> 8 & 0xff) as u8 == REQUEST_TYPE;
    REQUESTS.iter().find(|r| fits && r.0 == number).map(|r| r.1)
}

/// Copy contexts of the host-copy queue: 0 synchronous, 1 and 2 asynchronous. Context `h` has
/// its marker words at `8 * h`.
pub const COPY_HANDLES: u32 = 3;
/// Bytes of one context's marker words: source, then destination.
pub const MARKER_BYTES: u64 = 8;
/// Handle that stands for no copy.
pub const NO_HANDLE: i64 = -1;

/// The handle of the copy after one with handle `previous`: none, 1, 2, 1, ..; a synchronous
/// copy stays 0.
///
/// # Errors
/// -22 for anything else.
pub fn next_async_handle(previous: i64) -> Result<i64, Errno> {
    match previous {
        NO_HANDLE | 2 => Ok(1),
        1 => Ok(2),
        0 => Ok(0),
        _ => Err(Errno::INVAL),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn handles_alternate() {
        assert_eq!([-1, 1, 2, 0].map(next_async_handle), [Ok(1), Ok(2), Ok(1), Ok(0)]);
        assert_eq!(next_async_handle(3), Err(Errno::INVAL));
    }

    #[test]
    fn copy_start_is_request_35() {
        assert_eq!(request_name(COPY_START_CODE), Some("copy start"));
        assert_eq!(request_name(36), Some("ack"));
        assert_eq!(request_name(0x8008_4f23), None);
    }
}
