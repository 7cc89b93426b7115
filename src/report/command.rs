//! Command lines that a person copies: every word as a shell takes it.

/// A word of a command line, quoted where a shell would read it otherwise.
pub fn quoted(text: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:+@,=".contains(c);
    if !text.is_empty() && text.chars().all(plain) {
        text.to_owned()
    } else {
        format!("'{}'", text.replace('\'', "'\\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::quoted;

    #[test]
    fn words_are_quoted_where_a_shell_would_read_them_otherwise() {
        let cases = [
            ("cpu+mask-outside@9-14", "cpu+mask-outside@9-14"),
            ("a b", "'a b'"),
            ("", "''"),
            ("it's", "'it'\\''s'"),
            ("$(x)", "'$(x)'"),
            ("caf\u{e9}", "'caf\u{e9}'"),
        ];
        for (plain, word) in cases {
            assert_eq!(quoted(plain), word, "{plain}");
        }
    }
}
