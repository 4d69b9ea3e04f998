//! Digits of numbers, without a formatter and without a branch for each.

/// The sixteen hex digits of a number.
pub fn hex16(value: u64) -> [u8; 16] {
    let (high, low) = (hex8((value >> 32) as u32), hex8(value as u32));
    let mut out = [0; 16];
    let (a, b) = out.split_at_mut(8);
    a.copy_from_slice(&high);
    b.copy_from_slice(&low);
    out
}

/// The eight hex digits of a number.
pub fn hex8(value: u32) -> [u8; 8] {
    // A digit to a byte, the highest in the highest.
    let mut x = u64::from(value);
    x = (x & 0xffff_0000) << 16 | x & 0xffff;
    x = (x & 0x0000_ff00_0000_ff00) << 8 | x & 0x0000_00ff_0000_00ff;
    x = (x & 0x00f0_00f0_00f0_00f0) << 4 | x & 0x000f_000f_000f_000f;
    // Ten and more go on at `a`.
    let letters = (x + 0x0606_0606_0606_0606) >> 4 & 0x0101_0101_0101_0101;
    (x + 0x3030_3030_3030_3030 + letters * u64::from(b'a' - b'0' - 10)).to_be_bytes()
}

/// The numbers below 100 in two digits each.
const TWO: [[u8; 2]; 100] = {
    let mut out = [[0; 2]; 100];
    let mut i = 0;
    while i < 100 {
        out[i] = [b'0' + (i / 10) as u8, b'0' + (i % 10) as u8];
        i += 1;
    }
    out
};

/// Most digits of a number of 64 bits.
pub const MOST: usize = 20;

/// The decimal digits of a number, at the end of `room`.
pub fn decimal(mut value: u64, room: &mut [u8; MOST]) -> &[u8] {
    let mut at = MOST;
    while value >= 100 {
        at -= 2;
        room[at..at + 2].copy_from_slice(&TWO[(value % 100) as usize]);
        value /= 100;
    }
    let last = &TWO[value as usize];
    let n = if value < 10 { 1 } else { 2 };
    at -= n;
    room[at..at + n].copy_from_slice(&last[2 - n..]);
    &room[at..]
}

/// Appends digits, which are ASCII.
pub fn push(out: &mut String, digits: &[u8]) {
    // They are; otherwise there is nothing to append.
    out.push_str(str::from_utf8(digits).unwrap_or_default());
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn digits_are_those_of_the_formatter(n in any::<u64>(), shift in 0u32..64) {
            let n = n >> shift;
            let text = |b: &[u8]| String::from_utf8_lossy(b).into_owned();
            prop_assert_eq!(text(&hex16(n)), format!("{n:016x}"));
            prop_assert_eq!(text(&hex8(n as u32)), format!("{:08x}", n as u32));
            prop_assert_eq!(text(decimal(n, &mut [0; MOST])), n.to_string());
        }
    }
}
