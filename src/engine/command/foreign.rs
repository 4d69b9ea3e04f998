//! Words that users of gdb and rr bring along for what is called something else here: told as
//! advice where no command has the name.

/// Each word with what does its work here. What stands in backquotes is a line as it can be
/// typed, with EXPR, LOC, N and the like as in the usage of a command.
pub static FOREIGN: &[(&[&str], &str)] = &[
    (&["run", "start", "starti"], "`continue` runs on, `restart` goes back to event 0"),
    (&["stepi", "si", "nexti", "ni"], "`step 1 event` goes to the next single event"),
    (
        &["reverse-stepi", "rsi", "reverse-nexti", "rni"],
        "`reverse-step 1 event` goes back by a single event",
    ),
    (
        &["backtrace", "bt", "frame", "up", "down"],
        "`where` says where the session stands, `why` why it does not go on",
    ),
    (&["checkpoint"], "`mark NAME` names an event, `goto NAME` goes there"),
    (&["advance"], "`until EXPR` runs on, or `tbreak LOC` and `continue`"),
    (&["ignore"], "`break LOC after N` passes over the first hits"),
    (&["condition", "cond"], "`break LOC if EXPR` has the condition with it"),
    (&["rwatch"], "`watch ADDR read`"),
    (&["awatch"], "`watch ADDR access`"),
    (&["printf", "output", "inspect", "call"], "`print EXPR` shows a value, `echo TEXT` a text"),
    (
        &["disassemble", "disas"],
        "`explain LOC` tells every bit of a slot, `x /4i ADDR` shows memory as descriptors",
    ),
    (&["examine"], "`x /8wx ADDR` shows memory"),
    (&["clear"], "`delete N` takes a stop away, `delete` all of them"),
    (&["jump", "seek", "seek-ticks"], "`goto N` goes to an event"),
    (&["show"], "`info breakpoints` shows the stops; `help info` lists the other subjects"),
    (&["ptype", "whatis"], "`explain LOC` tells what something is"),
    (&["thread", "inferior"], "`info queue q0` selects a queue"),
    (&["dump", "gcore"], "`export events FILE` writes what happened, `save FILE.dma` the program"),
    (&["restore"], "`set LOC = EXPR` changes memory"),
    (&["load", "file", "attach", "exec-file"], "files are named on the command line"),
    (&["kill", "detach"], "`quit` leaves"),
    (&["shell", "make", "pipe"], "no command runs other programs"),
    (
        &["while", "if", "define", "document", "python"],
        "there are no loops and definitions: `until EXPR` and the `commands` of a stop do their work",
    ),
];

/// What does the work of a word here.
pub fn foreign(word: &str) -> Option<&'static str> {
    FOREIGN.iter().find(|(words, _)| words.contains(&word)).map(|f| f.1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::command::{COMMANDS, find};

    #[test]
    fn foreign_words_are_no_commands_and_stand_once() {
        let mut all: Vec<&str> = FOREIGN.iter().flat_map(|f| f.0).copied().collect();
        let n = all.len();
        for word in &all {
            assert!(find(word).is_err(), "`{word}` is a command");
            assert!(foreign(word).is_some());
        }
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), n);
    }

    #[test]
    fn the_advice_names_commands_that_there_are() {
        for (words, advice) in FOREIGN {
            for line in advice.split('`').skip(1).step_by(2) {
                let verb = line.split(' ').next().unwrap_or_default();
                assert!(COMMANDS.iter().any(|c| c.name == verb), "{words:?}: `{line}`");
            }
        }
    }
}
