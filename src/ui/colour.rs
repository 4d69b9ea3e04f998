//! The 256 colours of a terminal: the first sixteen by name, a cube, greys.

use ratatui::style::Color;

/// The first sixteen, in the order of their numbers.
const FIRST: [(Color, u32); 16] = [
    // No two terminals show them alike; these read well on a dark and on a light ground.
    (Color::Black, 0x1d1f21),
    (Color::Red, 0xcc4444),
    (Color::Green, 0x5f9e3f),
    (Color::Yellow, 0xb58900),
    (Color::Blue, 0x4a7fc1),
    (Color::Magenta, 0xa85fb5),
    (Color::Cyan, 0x2f9a9a),
    (Color::Gray, 0xc5c8c6),
    (Color::DarkGray, 0x707880),
    (Color::LightRed, 0xf0625f),
    (Color::LightGreen, 0x7fc35a),
    (Color::LightYellow, 0xe0b040),
    (Color::LightBlue, 0x73a7e8),
    (Color::LightMagenta, 0xc98ad6),
    (Color::LightCyan, 0x5cc9c9),
    (Color::White, 0xf2f2f2),
];

/// The place of a colour among the 256; one that has none is the last of the first sixteen.
pub fn index(colour: Color) -> u8 {
    match colour {
        Color::Indexed(n) => n,
        other => FIRST.iter().position(|c| c.0 == other).unwrap_or(15) as u8,
    }
}

/// Red, green and blue of a place, eight bits each.
pub fn rgb(n: u8) -> u32 {
    match n {
        0..16 => FIRST[usize::from(n)].1,
        // Six steps of each part, then greys.
        16..232 => {
            let n = u32::from(n) - 16;
            let part = |v: u32| if v == 0 { 0 } else { 55 + 40 * v };
            part(n / 36) << 16 | part(n / 6 % 6) << 8 | part(n % 6)
        }
        _ => (8 + 10 * (u32::from(n) - 232)) * 0x01_0101,
    }
}

/// The one of the first sixteen that looks most like a place.
pub fn basic(n: u8) -> Color {
    let far = |a: u32, b: u32| -> u32 {
        [16, 8, 0].into_iter().map(|s| (a >> s & 0xff).abs_diff(b >> s & 0xff).pow(2)).sum()
    };
    let want = rgb(n);
    FIRST.iter().min_by_key(|c| far(c.1, want)).map_or(Color::Reset, |c| c.0)
}

/// The bright colour that stands for one where contrast matters most.
pub fn bright(colour: Color) -> Color {
    match colour {
        Color::Indexed(n) => bright(basic(n)),
        Color::Red => Color::LightRed,
        Color::Green => Color::LightGreen,
        Color::Yellow => Color::LightYellow,
        Color::Blue => Color::LightBlue,
        Color::Magenta => Color::LightMagenta,
        Color::Cyan => Color::LightCyan,
        Color::Black | Color::Gray | Color::DarkGray => Color::White,
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cube_and_the_greys_are_the_usual_ones() {
        assert_eq!(rgb(16), 0x000000);
        assert_eq!(rgb(24), 0x005f87);
        assert_eq!(rgb(231), 0xffffff);
        assert_eq!(rgb(232), 0x080808);
        assert_eq!(rgb(255), 0xeeeeee);
    }

    #[test]
    fn names_have_their_places() {
        for (n, (c, _)) in FIRST.iter().enumerate() {
            assert_eq!(usize::from(index(*c)), n);
            assert_eq!(basic(n as u8), *c);
        }
    }
}
