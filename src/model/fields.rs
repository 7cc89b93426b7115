//! Reading a JSON manifest field by field, collecting every problem instead of stopping at the first.
//!
//! Apart from the readers because model directories, captures and mappings are all refused the same way: whole,
//! with everything that is wrong in one message. Nothing here trusts a size, a type or a depth.

use serde_json::{Map, Value};
use std::fmt::{self, Display};
use std::path::Path;

/// A manifest larger than this is not one.
const MAX_MANIFEST: u64 = 64 << 20;
/// Problems shown of one file; the rest is counted.
const SHOWN: usize = 40;

/// Every problem of one file or directory, in the order found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Problems(Vec<String>);

impl Problems {
    /// Adds one.
    pub fn add(&mut self, problem: impl Display) {
        self.0.push(problem.to_string());
    }

    /// Adds the error of a result and passes its value on.
    pub fn take<T, E: Display>(&mut self, result: Result<T, E>) -> Option<T> {
        result.map_err(|error| self.add(error)).ok()
    }

    /// Whether none was found.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// How many were found.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// All of them.
    pub fn iter(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(String::as_str)
    }

    /// Moves the problems of another file behind these.
    pub fn append(&mut self, mut other: Self) {
        self.0.append(&mut other.0);
    }
}

impl Display for Problems {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let noun = if self.len() == 1 { "problem" } else { "problems" };
        write!(f, "{} {noun}", self.len())?;
        for problem in self.0.iter().take(SHOWN) {
            write!(f, "\n  - {problem}")?;
        }
        if self.len() > SHOWN {
            write!(f, "\n  - and {} more", self.len() - SHOWN)?;
        }
        Ok(())
    }
}

/// Reads a JSON file of reasonable size.
pub(crate) fn load(path: &Path, problems: &mut Problems) -> Option<Value> {
    let name = path.file_name().map_or_else(|| "manifest".into(), |n| n.to_string_lossy());
    let metadata = problems.take(std::fs::metadata(path).map_err(|e| format!("{name}: cannot be read: {e}")))?;
    if !metadata.is_file() {
        problems.add(format_args!("{name}: expected a file, found something else"));
        return None;
    }
    if metadata.len() > MAX_MANIFEST {
        problems
            .add(format_args!("{name}: {} bytes are too many for a manifest (at most {MAX_MANIFEST})", metadata.len()));
        return None;
    }
    let bytes = problems.take(std::fs::read(path).map_err(|e| format!("{name}: cannot be read: {e}")))?;
    parse(&name, &bytes, problems)
}

/// Parses JSON bytes.
pub(crate) fn parse(name: &str, bytes: &[u8], problems: &mut Problems) -> Option<Value> {
    // A byte order mark is not JSON, but editors write it.
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    problems.take(serde_json::from_slice(bytes).map_err(|e| format!("{name}: is not JSON: {e}")))
}

/// One JSON object and where it stands, for messages.
#[derive(Clone, Debug)]
pub(crate) struct Fields<'a> {
    map: &'a Map<String, Value>,
    at: String,
}

impl<'a> Fields<'a> {
    /// The object that a value is, or a problem.
    pub(crate) fn of(value: &'a Value, at: impl Into<String>, problems: &mut Problems) -> Option<Self> {
        let at = at.into();
        let map = value.as_object();
        if map.is_none() {
            let place = if at.is_empty() { "the manifest" } else { &at };
            problems.add(format_args!("{place}: expected an object, found {}", shown(value)));
        }
        map.map(|map| Self { map, at })
    }

    /// Where a key stands.
    pub(crate) fn place(&self, key: &str) -> String {
        if self.at.is_empty() { key.to_owned() } else { format!("{}.{key}", self.at) }
    }

    /// A key's value; JSON null counts as absent.
    pub(crate) fn get(&self, key: &str) -> Option<&'a Value> {
        self.map.get(key).filter(|value| !value.is_null())
    }

    /// All keys and values.
    pub(crate) fn entries(&self) -> impl Iterator<Item = (&'a String, &'a Value)> {
        self.map.iter()
    }

    fn required(&self, key: &str, what: &str, problems: &mut Problems) -> Option<&'a Value> {
        let value = self.get(key);
        if value.is_none() {
            problems.add(format_args!("{}: expected {what}, found nothing", self.place(key)));
        }
        value
    }

    fn wrong(&self, key: &str, what: &str, value: &Value, problems: &mut Problems) {
        problems.add(format_args!("{}: expected {what}, found {}", self.place(key), shown(value)));
    }

    /// A required text.
    pub(crate) fn text(&self, key: &str, problems: &mut Problems) -> Option<&'a str> {
        let value = self.required(key, "a text", problems)?;
        if value.as_str().is_none() {
            self.wrong(key, "a text", value, problems);
        }
        value.as_str()
    }

    /// An optional text: a problem only when it is something else.
    pub(crate) fn optional_text(&self, key: &str, problems: &mut Problems) -> Option<&'a str> {
        self.get(key).and_then(|_| self.text(key, problems))
    }

    /// A required whole number of 0 or more that fits a machine word.
    pub(crate) fn count(&self, key: &str, problems: &mut Problems) -> Option<usize> {
        let value = self.required(key, "a whole number", problems)?;
        let count = whole(value);
        if count.is_none() {
            self.wrong(key, "a whole number of 0 or more", value, problems);
        }
        count
    }

    /// An optional finite number.
    pub(crate) fn optional_number(&self, key: &str, problems: &mut Problems) -> Option<f64> {
        let value = self.get(key)?;
        let number = value.as_f64().filter(|n| n.is_finite());
        if number.is_none() {
            self.wrong(key, "a number", value, problems);
        }
        number
    }

    /// A required list.
    pub(crate) fn list(&self, key: &str, problems: &mut Problems) -> Option<&'a [Value]> {
        let value = self.required(key, "a list", problems)?;
        let list = value.as_array();
        if list.is_none() {
            self.wrong(key, "a list", value, problems);
        }
        list.map(Vec::as_slice)
    }

    /// An optional list.
    pub(crate) fn optional_list(&self, key: &str, problems: &mut Problems) -> &'a [Value] {
        self.get(key).and_then(|_| self.list(key, problems)).unwrap_or(&[])
    }

    /// A required object.
    pub(crate) fn object(&self, key: &str, problems: &mut Problems) -> Option<Self> {
        let value = self.required(key, "an object", problems)?;
        Self::of(value, self.place(key), problems)
    }

    /// An optional object.
    pub(crate) fn optional_object(&self, key: &str, problems: &mut Problems) -> Option<Self> {
        self.get(key).and_then(|_| self.object(key, problems))
    }

    /// Required 64 hexadecimal digits, lower case.
    pub(crate) fn sha256(&self, key: &str, problems: &mut Problems) -> Option<String> {
        let text = self.text(key, problems)?;
        if text.len() != 64 || !text.bytes().all(|b| b.is_ascii_hexdigit()) {
            self.wrong(key, "64 hexadecimal digits", &Value::from(text), problems);
            return None;
        }
        Some(text.to_ascii_lowercase())
    }
}

/// A whole number, also when a program wrote it as `12.0`.
pub(crate) fn whole(value: &Value) -> Option<usize> {
    let float = || value.as_f64().filter(|f| f.fract() == 0.0 && (0.0..9_007_199_254_740_992.0).contains(f));
    value.as_u64().or_else(|| float().map(|f| f as u64)).and_then(|n| usize::try_from(n).ok())
}

/// A value as a message shows it: short.
pub(crate) fn shown(value: &Value) -> String {
    let kind = match value {
        Value::Array(list) => return format!("a list of {}", list.len()),
        Value::Object(map) => return format!("an object of {} keys", map.len()),
        other => other.to_string(),
    };
    if kind.chars().count() <= 80 { kind } else { format!("{}...", kind.chars().take(77).collect::<String>()) }
}
