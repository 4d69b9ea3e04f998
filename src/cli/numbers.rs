//! Numbers and words as they are written on a command line.

use crate::udma::DESC_BYTES;

/// A number: decimal, or hex after `0x`; underscores between digits are allowed.
///
/// # Errors
/// A sentence on what is wrong.
pub fn parse(text: &str) -> Result<u64, String> {
    let clean: String = text.chars().filter(|c| *c != '_').collect();
    let parsed = match clean.strip_prefix("0x").or_else(|| clean.strip_prefix("0X")) {
        Some(hex) if !hex.starts_with('+') => u64::from_str_radix(hex, 16),
        _ => clean.parse(),
    };
    parsed.map_err(|_| "not a number of at most 64 bits (12, 0x1f)".to_owned())
}

/// What an argument that is not a file name stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Token {
    /// One word.
    Word(u64),
    /// A whole descriptor, in memory order.
    Desc([u8; DESC_BYTES]),
}

/// Reads an argument as a word: `0x..`, eight bare hex digits, or a descriptor's thirty-two.
pub fn token(text: &str) -> Option<Token> {
    let clean: String = text.chars().filter(|c| *c != '_').collect();
    let hex = clean.strip_prefix("0x").or_else(|| clean.strip_prefix("0X"));
    let digits = hex.unwrap_or(&clean);
    if digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_hexdigit()) {
        return None;
    }
    match digits.len() {
        32 => bytes16(digits).map(Token::Desc),
        8 => u64::from_str_radix(digits, 16).ok().map(Token::Word),
        1..=16 if hex.is_some() => u64::from_str_radix(digits, 16).ok().map(Token::Word),
        _ => None,
    }
}

/// Thirty-two hex digits as bytes in order.
pub fn bytes16(digits: &str) -> Option<[u8; DESC_BYTES]> {
    let mut out = [0; DESC_BYTES];
    if digits.len() != 2 * DESC_BYTES || !digits.is_ascii() {
        return None;
    }
    for (byte, at) in out.iter_mut().zip((0..).step_by(2)) {
        *byte = u8::from_str_radix(digits.get(at..at + 2)?, 16).ok()?;
    }
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_in_both_bases() {
        assert_eq!(parse("0x1000_0000"), Ok(0x1000_0000));
        assert_eq!(parse("65536"), Ok(65_536));
        for bad in ["", "0x", "12g", "-1", "0x+1", "0x10000000000000000"] {
            assert!(parse(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn words_are_told_from_names() {
        assert_eq!(token("0d001000"), Some(Token::Word(0x0d00_1000)));
        assert_eq!(token("0x4"), Some(Token::Word(4)));
        assert!(matches!(
            token("0010000d030008010010004000100000"),
            Some(Token::Desc(b)) if b[3] == 0x0d
        ));
        for name in ["ring.bin", "abc", "-", "0xzz", ""] {
            assert_eq!(token(name), None, "{name}");
        }
    }
}
