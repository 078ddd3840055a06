//! Finds shell syntax in a program's string, so that no operator is passed to a program as an argument.

/// Words that a shell runs itself and that are not programs: built-in commands without an equivalent in `/bin`, and
/// reserved words.
const SHELL_WORDS: [&str; 48] = [
    ".", ":", "alias", "bg", "break", "builtin", "case", "cd", "command", "continue", "declare", "dirs", "disown",
    "eval", "exec", "exit", "export", "fc", "fg", "for", "function", "getopts", "hash", "if", "jobs", "let", "local",
    "popd", "pushd", "read", "readonly", "return", "select", "set", "shift", "shopt", "source", "times", "trap",
    "type", "typeset", "ulimit", "umask", "unalias", "unset", "until", "wait", "while",
];
/// Reserved words without letters.
const SHELL_SIGNS: [&str; 3] = ["!", "{", "[["];

/// Syntax that needs a shell.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ShellSyntax {
    /// `|`, `&&`, `;`, a line break, …
    Operator(String),
    /// `>`, `2>`, `<`, …
    Redirection(String),
    /// `*`, `?`, `[a-z]`.
    Pattern(String),
    /// `$name`, `${…}`, `$(…)`.
    Expansion(String),
    /// `` ` ``.
    Backquote,
    /// `~`, `~user`.
    Tilde,
    /// `NAME=value` before the program.
    Assignment(String),
    /// `cd`, `export`, `[[`, …
    Builtin(String),
}

impl std::fmt::Display for ShellSyntax {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            ShellSyntax::Operator(o) if o == "\n" => write!(f, "the line break"),
            ShellSyntax::Operator(o) => write!(f, "the operator `{o}`"),
            ShellSyntax::Redirection(o) => write!(f, "the redirection `{o}`"),
            ShellSyntax::Pattern(p) => write!(f, "the file name pattern `{p}`"),
            ShellSyntax::Expansion(v) => write!(f, "the expansion `{v}`"),
            ShellSyntax::Backquote => write!(f, "the command substitution by backquotes"),
            ShellSyntax::Tilde => write!(f, "the home folder `~`"),
            ShellSyntax::Assignment(name) => write!(f, "the assignment `{name}=`"),
            ShellSyntax::Builtin(word) => write!(f, "the shell's own command `{word}`"),
        }
    }
}

/// Whether a shell runs this word itself.
pub fn is_builtin(word: &str) -> bool {
    SHELL_WORDS.contains(&word) || SHELL_SIGNS.contains(&word)
}

/// The first thing in the text that POSIX `sh` does beyond splitting it into words; `None` if there are only words.
///
/// The rules of quoting are those of POSIX, Shell Command Language 2.2; brace expansion (`{a,b}`) is not in it. A quote that
/// is not closed ends the search: splitting into words reports it.
pub fn shell_syntax(text: &str) -> Option<ShellSyntax> {
    let chars: Vec<char> = text.trim().chars().collect();
    Scanner { chars: &chars, at: 0, word: String::new(), in_word: false, quoted: false, words: 0 }.run()
}

struct Scanner<'a> {
    chars: &'a [char],
    at: usize,
    /// The word that is being read, without its quotes.
    word: String,
    in_word: bool,
    quoted: bool,
    /// Words read so far.
    words: usize,
}

/// Result of reading a part of the text: continue, or stop with the syntax that was found or without any.
type LexStep = Result<(), Option<ShellSyntax>>;

impl Scanner<'_> {
    fn run(mut self) -> Option<ShellSyntax> {
        while self.at < self.chars.len() {
            if let Err(found) = self.step() {
                return found;
            }
        }
        self.end_word().err().flatten()
    }

    fn peek(&self, ahead: usize) -> Option<char> {
        self.chars.get(self.at + ahead).copied()
    }

    fn push(&mut self, c: char) {
        self.word.push(c);
        self.in_word = true;
    }

    fn step(&mut self) -> LexStep {
        let Some(c) = self.peek(0) else { return Ok(()) };
        match c {
            ' ' | '\t' => self.end_word()?,
            '\n' => {
                self.end_word()?;
                return Err(Some(ShellSyntax::Operator("\n".into())));
            }
            '#' if !self.in_word => {
                while self.peek(1).is_some_and(|c| c != '\n') {
                    self.at += 1;
                }
            }
            '\'' => self.single_quotes()?,
            '"' => self.double_quotes()?,
            '\\' => {
                self.at += 1;
                self.quoted = true;
                // A line break after it continues the line.
                if let Some(c) = self.peek(0).filter(|c| *c != '\n') {
                    self.push(c);
                }
            }
            '|' | '&' | ';' | '(' | ')' => {
                self.end_word()?;
                let double = self.peek(1) == Some(c) && !matches!(c, '(' | ')');
                return Err(Some(ShellSyntax::Operator(c.to_string().repeat(if double { 2 } else { 1 }))));
            }
            '<' | '>' => return Err(Some(self.redirection(c))),
            c => self.plain(c)?,
        }
        self.at += 1;
        Ok(())
    }

    /// A character outside quotes that is no operator.
    fn plain(&mut self, c: char) -> LexStep {
        match c {
            '$' => self.expansion()?,
            '`' => return Err(Some(ShellSyntax::Backquote)),
            '*' | '?' => return Err(Some(ShellSyntax::Pattern(c.to_string()))),
            '[' => {
                let rest = self.chars.get(self.at + 1..).unwrap_or_default();
                let in_word = rest.iter().take_while(|c| !c.is_whitespace()).collect::<String>();
                // `[]` is no pattern, and `[` alone is the program `test`.
                if let Some(end) = in_word.char_indices().skip(1).find(|(_, c)| *c == ']').map(|(i, _)| i) {
                    return Err(Some(ShellSyntax::Pattern(format!("[{}]", &in_word[..end]))));
                }
            }
            '~' if !self.in_word => {
                let rest = self.chars.get(self.at + 1..).unwrap_or_default();
                let mut user = rest.iter().take_while(|c| **c != '/' && !c.is_whitespace());
                if user.all(|c| c.is_alphanumeric() || matches!(c, '.' | '_' | '-' | '+')) {
                    return Err(Some(ShellSyntax::Tilde));
                }
            }
            '=' if self.words == 0 && !self.quoted && is_name(&self.word) => {
                return Err(Some(ShellSyntax::Assignment(self.word.clone())));
            }
            _ => {}
        }
        self.push(c);
        Ok(())
    }

    fn single_quotes(&mut self) -> LexStep {
        (self.in_word, self.quoted) = (true, true);
        self.at += 1;
        while let Some(c) = self.peek(0) {
            if c == '\'' {
                return Ok(());
            }
            self.push(c);
            self.at += 1;
        }
        Err(None)
    }

    fn double_quotes(&mut self) -> LexStep {
        (self.in_word, self.quoted) = (true, true);
        self.at += 1;
        while let Some(c) = self.peek(0) {
            match c {
                '"' => return Ok(()),
                '\\' => {
                    self.at += 1;
                    if let Some(c) = self.peek(0) {
                        self.push(c);
                    }
                }
                '$' => {
                    self.expansion()?;
                    self.push(c);
                }
                '`' => return Err(Some(ShellSyntax::Backquote)),
                c => self.push(c),
            }
            self.at += 1;
        }
        Err(None)
    }

    /// At a `$`: an expansion, or only that character.
    fn expansion(&self) -> LexStep {
        let next = self.peek(1);
        let text = match next {
            Some('{') => "${".to_owned(),
            Some('(') => "$(".to_owned(),
            Some(c) if c.is_ascii_alphabetic() || c == '_' => {
                let name = self.chars.get(self.at + 1..).unwrap_or_default();
                let name: String = name.iter().take_while(|c| c.is_ascii_alphanumeric() || **c == '_').collect();
                format!("${name}")
            }
            Some(c) if c.is_ascii_digit() || "*@#?-$!".contains(c) => format!("${c}"),
            _ => return Ok(()),
        };
        Err(Some(ShellSyntax::Expansion(text)))
    }

    fn redirection(&self, c: char) -> ShellSyntax {
        // Digits directly before it are a file descriptor.
        let number = if self.quoted || !self.word.chars().all(|c| c.is_ascii_digit()) { "" } else { &self.word };
        let second = self.peek(1).filter(|d| *d == c || *d == '&').map(String::from).unwrap_or_default();
        ShellSyntax::Redirection(format!("{number}{c}{second}"))
    }

    fn end_word(&mut self) -> LexStep {
        if !self.in_word {
            return Ok(());
        }
        self.words += 1;
        let word = std::mem::take(&mut self.word);
        let quoted = std::mem::take(&mut self.quoted);
        self.in_word = false;
        if self.words == 1 && is_builtin(&word) && !(quoted && SHELL_SIGNS.contains(&word.as_str())) {
            return Err(Some(ShellSyntax::Builtin(word)));
        }
        Ok(())
    }
}

/// A name as in an assignment.
fn is_name(word: &str) -> bool {
    word.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && word.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> String {
        shell_syntax(text).map(|s| s.to_string()).unwrap_or_default()
    }

    #[test]
    fn words_alone_need_no_shell() {
        for text in [
            "gzip -9 -k file",
            "  true  ",
            "",
            "echo 'a; b | c > d & $x `y` * ? ~'",
            "echo \"a; b | c > d * ~\"",
            r"echo a\;b \| \> \$HOME \* \~ \`x\`",
            "echo \"\\$HOME \\`x\\`\"",
            "echo {a,b} {1..3} {} x{level}",
            "echo cost: 5$ $",
            "echo a # ; this is a comment | $x",
            "echo a#b 50% a=b x~ a~/b [] [ ]",
            "[ a = b ]",
            "env X=1 cd",
            "echo ! {",
            "find . -name '*.rs' -newer 'a b'",
            "./a=b",
            "a\\\nb",
        ] {
            assert_eq!(found(text), "", "{text}");
        }
    }

    #[test]
    fn what_a_shell_does_is_found() {
        for (text, expected) in [
            ("echo a; sleep 0.05", "the operator `;`"),
            ("true && true", "the operator `&&`"),
            ("true || true", "the operator `||`"),
            ("cat x | wc", "the operator `|`"),
            ("sleep 1 &", "the operator `&`"),
            ("(true)", "the operator `(`"),
            ("true\ntrue", "the line break"),
            ("cmd > file", "the redirection `>`"),
            ("cmd >> file", "the redirection `>>`"),
            ("cmd 2>&1", "the redirection `2>&`"),
            ("sort <file", "the redirection `<`"),
            ("grep TODO *", "the file name pattern `*`"),
            ("ls file.?", "the file name pattern `?`"),
            ("ls [a-c].txt", "the file name pattern `[a-c]`"),
            ("echo $HOME", "the expansion `$HOME`"),
            ("echo \"a $HOME\"", "the expansion `$HOME`"),
            ("echo ${x}", "the expansion `${`"),
            ("echo $(date)", "the expansion `$(`"),
            ("echo $?", "the expansion `$?`"),
            ("echo \"`date`\"", "the command substitution by backquotes"),
            ("echo `date`", "the command substitution by backquotes"),
            ("ls ~/x", "the home folder `~`"),
            ("ls ~root", "the home folder `~`"),
            ("X=1 env", "the assignment `X=`"),
            ("cd /tmp", "the shell's own command `cd`"),
            ("export", "the shell's own command `export`"),
            ("source x", "the shell's own command `source`"),
            ("[[ -f x ]]", "the shell's own command `[[`"),
            ("! true", "the shell's own command `!`"),
            ("exit 1", "the shell's own command `exit`"),
            ("echo 'a'\"b\";c", "the operator `;`"),
            ("echo 'a' \"b\" # c\ntrue", "the line break"),
        ] {
            assert_eq!(found(text), expected, "{text}");
        }
    }

    #[test]
    fn an_open_quote_ends_the_search() {
        assert_eq!((found("echo 'a; b"), found("echo \"a; b")), (String::new(), String::new()));
    }
}
