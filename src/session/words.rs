//! Closed enums whose values have one word each: what a command line, a saved session and a menu share.

/// Defines such an enum: the word is its text form, the sentence its tooltip.
macro_rules! words {
    ($(#[$doc:meta])* $name:ident { $($(#[$default:meta])? $variant:ident = $word:literal, $title:literal;)+ }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
        pub enum $name { $(#[doc = $title] $(#[$default])? #[serde(rename = $word)] $variant,)+ }

        impl $name {
            /// Every value, in the order of menus.
            pub const ALL: &'static [Self] = &[$(Self::$variant),+];

            /// The word of commands and saved sessions.
            pub const fn word(self) -> &'static str {
                match self { $(Self::$variant => $word),+ }
            }

            /// What it is, for menus and tooltips.
            pub const fn title(self) -> &'static str {
                match self { $(Self::$variant => $title),+ }
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.word())
            }
        }

        impl std::str::FromStr for $name {
            type Err = String;

            fn from_str(text: &str) -> Result<Self, String> {
                let all: Vec<&str> = Self::ALL.iter().map(|value| value.word()).collect();
                let found = Self::ALL.iter().find(|value| value.word() == text).copied();
                found.ok_or_else(|| format!("expected one of {}; found \"{text}\"", all.join(", ")))
            }
        }
    };
}
pub(crate) use words;
