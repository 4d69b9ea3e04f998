//! Which words of a text are what: the grammars of `grammars/` over lines of `.bir`, `.dma` and
//! `.dbg` (`docs/screen.md`, "Texts").
//!
//! A grammar is read when its first line is asked for. Lines stand alone, so that only those on
//! the screen are looked at.

use std::sync::LazyLock;
use syntect::parsing::{
    ParseState, Scope, ScopeStack, SyntaxDefinition, SyntaxSet, SyntaxSetBuilder,
};

/// A language that has a grammar.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Language {
    /// BIR text.
    Bir,
    /// DMA assembly.
    Dma,
    /// Scripts.
    Dbg,
}

impl Language {
    /// All of them.
    pub const ALL: [Language; 3] = [Language::Bir, Language::Dma, Language::Dbg];

    /// The ending of its files.
    pub fn extension(self) -> &'static str {
        match self {
            Language::Bir => "bir",
            Language::Dma => "dma",
            Language::Dbg => "dbg",
        }
    }

    /// Its grammar, in Sublime's form.
    pub fn grammar(self) -> &'static str {
        match self {
            Language::Bir => include_str!("../../grammars/bir.sublime-syntax"),
            Language::Dma => include_str!("../../grammars/dma.sublime-syntax"),
            Language::Dbg => include_str!("../../grammars/dbg.sublime-syntax"),
        }
    }
}

/// What a word is, as far as the screen tells words apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Tone {
    /// Anything else.
    #[default]
    Plain,
    /// A comment.
    Comment,
    /// A word that begins a statement or a clause.
    Keyword,
    /// What is done: an opcode, a call of the driver.
    Action,
    /// A name that is declared here.
    Name,
    /// A key before its `=`.
    Key,
    /// A number or another constant.
    Constant,
    /// A quoted text.
    Text,
    /// A type of elements.
    Type,
    /// A queue, a ring, an engine, a variable.
    Variable,
    /// Brackets, signs.
    Sign,
    /// What cannot stand here.
    Wrong,
}

/// Prefixes of scopes and the tone of each; the first that fits counts.
const TONES: &[(&str, Tone)] = &[
    ("invalid", Tone::Wrong),
    ("comment", Tone::Comment),
    ("string", Tone::Text),
    ("constant.character", Tone::Text),
    ("punctuation.definition.string", Tone::Text),
    ("keyword.operator", Tone::Sign),
    ("keyword", Tone::Keyword),
    ("support.function", Tone::Action),
    ("entity.other.attribute-name", Tone::Key),
    ("entity.name", Tone::Name),
    ("constant", Tone::Constant),
    ("storage", Tone::Type),
    ("variable.other.name", Tone::Plain),
    ("variable", Tone::Variable),
    ("punctuation", Tone::Sign),
];

/// The grammars, and the scopes of [`TONES`].
struct Grammars {
    set: SyntaxSet,
    tones: Vec<(Scope, Tone)>,
}

static GRAMMARS: LazyLock<Grammars> = LazyLock::new(|| {
    let mut set = SyntaxSetBuilder::new();
    for language in Language::ALL {
        // A grammar that cannot be read leaves its texts plain; a test reads each of them.
        if let Ok(g) = SyntaxDefinition::load_from_str(language.grammar(), true, None) {
            set.add(g);
        }
    }
    let tones = TONES.iter().filter_map(|(s, t)| Some((Scope::new(s).ok()?, *t))).collect();
    Grammars { set: set.build(), tones }
});

impl Grammars {
    fn tone(&self, scopes: &[Scope]) -> Tone {
        let of = |s: &Scope| self.tones.iter().find(|(prefix, _)| prefix.is_prefix_of(*s));
        // The innermost scope that says anything.
        scopes.iter().rev().find_map(of).map_or(Tone::Plain, |t| t.1)
    }
}

/// Lines longer than this, in bytes, stay plain from there on.
const MAX_TONED: usize = 2048;

/// The tones of a line without its end: each stretch by the byte after it, in order. What
/// follows the last one is plain.
pub fn tones(language: Language, line: &str) -> Vec<(usize, Tone)> {
    let end = (0..=MAX_TONED.min(line.len())).rev().find(|i| line.is_char_boundary(*i));
    let line = &line[..end.unwrap_or(0)];
    let g = &*GRAMMARS;
    let Some(syntax) = g.set.find_syntax_by_extension(language.extension()) else {
        return Vec::new();
    };
    let Ok(ops) = ParseState::new(syntax).parse_line(&format!("{line}\n"), &g.set) else {
        return Vec::new();
    };
    let mut stack = ScopeStack::new();
    let mut out: Vec<(usize, Tone)> = Vec::new();
    let mut put = |upto: usize, tone: Tone| match out.last_mut() {
        Some(last) if last.1 == tone => last.0 = last.0.max(upto),
        last if last.as_ref().map_or(0, |l| l.0) < upto => out.push((upto, tone)),
        _ => {}
    };
    for (at, op) in ops {
        put(at.min(line.len()), g.tone(&stack.scopes));
        if stack.apply(&op).is_err() {
            break;
        }
    }
    put(line.len(), g.tone(&stack.scopes));
    out
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn words(language: Language, line: &str) -> Vec<(&str, Tone)> {
        let mut from = 0;
        let all = tones(language, line).into_iter().map(|(upto, tone)| {
            let text = &line[from..upto];
            from = upto;
            (text.trim(), tone)
        });
        all.filter(|w| !w.0.is_empty()).collect()
    }

    #[test]
    fn every_grammar_is_read() {
        for language in Language::ALL {
            SyntaxDefinition::load_from_str(language.grammar(), true, None).unwrap();
            assert!(GRAMMARS.set.find_syntax_by_extension(language.extension()).is_some());
        }
        assert_eq!(GRAMMARS.tones.len(), TONES.len());
    }

    #[test]
    fn words_have_their_tones() {
        let line = "arch v3 ; a remark";
        let want = [("arch", Tone::Keyword), ("v3", Tone::Constant), ("; a remark", Tone::Comment)];
        assert_eq!(words(Language::Dma, line), want);
        let got = words(Language::Bir, "  %I-1 = DMACopy Pool mode=Copy");
        assert!(got.contains(&("%I-1", Tone::Name)) && got.contains(&("DMACopy", Tone::Action)));
        assert!(got.contains(&("mode", Tone::Key)) && got.contains(&("Pool", Tone::Variable)));
        let got = words(Language::Dbg, "break tx[3] if $x == 7");
        assert_eq!(got[0], ("break", Tone::Keyword));
        assert!(got.contains(&("$x", Tone::Variable)));
    }

    #[test]
    fn stretches_are_in_order_and_end_with_the_line() {
        for line in ["", "é é", "arch", &"x=1 ".repeat(2000), "\"open"] {
            let all = tones(Language::Dma, line);
            assert!(all.windows(2).all(|w| w[0].0 < w[1].0 && w[0].1 != w[1].1), "{line}");
            let last = all.last().map_or(0, |t| t.0);
            assert!(last == line.len() || last >= MAX_TONED - 4);
            assert!(all.iter().all(|t| line.is_char_boundary(t.0)));
        }
    }
}
