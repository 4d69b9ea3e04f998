//! Pictures of the screen as commands name them: their form and their size (`docs/screen.md`,
//! "Pictures").

use crate::limits::MAX_PICTURE_SIDE;

/// The form of a picture.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum PictureForm {
    /// The characters alone, blanks at the ends of lines left out.
    Text,
    /// With the escape sequences of a terminal with 256 colours.
    Ansi,
    /// A scalable picture.
    Svg,
}

impl PictureForm {
    /// All of them.
    pub const ALL: [PictureForm; 3] = [PictureForm::Text, PictureForm::Ansi, PictureForm::Svg];

    /// As it is written.
    pub fn name(self) -> &'static str {
        match self {
            PictureForm::Text => "text",
            PictureForm::Ansi => "ansi",
            PictureForm::Svg => "svg",
        }
    }

    /// By the ending of a file's name.
    pub fn of_extension(ext: &str) -> Option<PictureForm> {
        match ext {
            "txt" | "text" => Some(PictureForm::Text),
            "ans" | "ansi" => Some(PictureForm::Ansi),
            "svg" => Some(PictureForm::Svg),
            _ => None,
        }
    }

    /// By the name of a file.
    pub fn of(file: &str) -> Option<PictureForm> {
        file.rsplit_once('.').and_then(|(_, ext)| PictureForm::of_extension(ext))
    }
}

/// Columns and rows of a screen, as `160x45`; nothing where that is no size or too large.
pub fn picture_size(text: &str) -> Option<(u16, u16)> {
    let part = |t: &str| t.parse().ok().filter(|n| (1..=MAX_PICTURE_SIDE).contains(n));
    text.split_once('x').and_then(|(w, h)| Some((part(w)?, part(h)?)))
}

/// The size of a picture where nothing is said.
pub const PICTURE_SIZE: (u16, u16) = (160, 45);
