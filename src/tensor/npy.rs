//! `.npy` files: NumPy's format for one array, read from untrusted bytes and written.
//!
//! Little-endian, C order, of bytes (`u1`, also `i1` and `b1` as bytes), halves (`f2`, or their bits as `u2`) and
//! singles (`f4`). Anything else is refused with what would be accepted.

/// Type of an array's elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NpyType {
    /// `u1`: bytes, such as E4M3 codes.
    U1,
    /// `u2`: 16 bits of something, usually a half's.
    U2,
    /// `f2`: halves.
    F2,
    /// `f4`: singles.
    F4,
}

impl NpyType {
    /// Bytes of one element.
    pub const fn bytes(self) -> usize {
        match self {
            Self::U1 => 1,
            Self::U2 | Self::F2 => 2,
            Self::F4 => 4,
        }
    }

    const fn descr(self) -> &'static str {
        match self {
            Self::U1 => "|u1",
            Self::U2 => "<u2",
            Self::F2 => "<f2",
            Self::F4 => "<f4",
        }
    }
}

/// An array inside a file's bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Array<'a> {
    /// Type of the elements.
    pub kind: NpyType,
    /// Extents, slowest first.
    pub shape: Vec<usize>,
    /// The elements, little-endian, in C order.
    pub data: &'a [u8],
}

/// Bytes that are no array which this program takes.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not a .npy array that can be read: {problem}")]
pub struct NpyError {
    /// What is wrong, and what would be right.
    pub problem: String,
}

const MAGIC: &[u8] = b"\x93NUMPY";
/// Longer headers are not written by anybody.
const MAX_HEADER: usize = 1 << 16;

/// What an array's header says. Also of arrays that [`parse`] refuses: of Fortran order, or big-endian.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Header {
    /// Type of the elements.
    pub kind: NpyType,
    /// Whether elements of several bytes have the first one highest.
    pub big_endian: bool,
    /// Whether the first axis lies closest together.
    pub fortran: bool,
    /// Extents, as written.
    pub shape: Vec<usize>,
    /// Where the data begins.
    pub offset: usize,
}

impl Header {
    /// Bytes of the data, unless they overflow.
    pub fn bytes(&self) -> Option<usize> {
        let elements = self.shape.iter().try_fold(1_usize, |product, &n| product.checked_mul(n));
        elements.and_then(|n| n.checked_mul(self.kind.bytes()))
    }
}

/// Reads the header that a file's bytes begin with.
///
/// # Errors
/// When it is no `.npy` file, ends inside its header, or holds elements of another type.
pub fn header(bytes: &[u8]) -> Result<Header, NpyError> {
    let wrong = |problem: &str| NpyError { problem: problem.to_owned() };
    let rest = bytes.strip_prefix(MAGIC).ok_or_else(|| wrong("it does not begin with the magic \\x93NUMPY"))?;
    let (header_length, rest) = match rest {
        [1, _, a, b, rest @ ..] => (usize::from(u16::from_le_bytes([*a, *b])), rest),
        [2 | 3, _, a, b, c, d, rest @ ..] => (u32::from_le_bytes([*a, *b, *c, *d]) as usize, rest),
        [1..=3, ..] | [] => return Err(wrong("it ends inside its header")),
        [version, ..] => return Err(wrong(&format!("expected format version 1, 2 or 3, found {version}"))),
    };
    if header_length > MAX_HEADER || header_length > rest.len() {
        return Err(wrong("it ends inside its header"));
    }
    let offset = bytes.len() - rest.len() + header_length;
    let text = std::str::from_utf8(&rest[..header_length]);
    let text = text.map_err(|_: std::str::Utf8Error| wrong("its header is not text"))?;
    let (kind, big_endian) = kind(text)?;
    let fortran = match field(text, "fortran_order") {
        Some(value) if value.starts_with("False") => false,
        Some(value) if value.starts_with("True") => true,
        _ => return Err(wrong("its header has no fortran_order")),
    };
    let shape = shape(text).ok_or_else(|| wrong("its header has no shape"))?;
    Ok(Header { kind, big_endian, fortran, shape, offset })
}

/// Reads the array in a file's bytes. Allocates nothing but the shape.
///
/// # Errors
/// When it is no `.npy` file, is damaged, or holds another type or order.
pub fn parse(bytes: &[u8]) -> Result<Array<'_>, NpyError> {
    let wrong = |problem: &str| NpyError { problem: problem.to_owned() };
    let header = header(bytes)?;
    if header.fortran {
        return Err(wrong("expected C order; save numpy.ascontiguousarray(array)"));
    }
    if header.big_endian {
        return Err(wrong("expected little-endian elements, found big-endian ones; save array.astype('<f4')"));
    }
    let (expected, data) = (header.bytes(), &bytes[header.offset..]);
    let Header { kind, shape, .. } = header;
    if expected != Some(data.len()) {
        let expected = expected.map_or_else(|| "more than fits memory".to_owned(), |n| n.to_string());
        return Err(wrong(&format!("shape {shape:?} needs {expected} bytes, found {}", data.len())));
    }
    Ok(Array { kind, shape, data })
}

/// A tensor as an array `[height][width][channels]`, E4M3 as its codes.
pub fn of(tensor: &super::Tensor) -> Vec<u8> {
    let kind = match tensor.shape.element {
        super::Element::E4m3 => NpyType::U1,
        super::Element::F16 => NpyType::F2,
        super::Element::F32 => NpyType::F4,
    };
    let size = tensor.shape.size;
    write(kind, &[size.height, size.width, tensor.shape.channels], tensor.bytes())
}

/// A whole file: `data` is little-endian, in C order.
///
/// # Panics
/// When `data` does not fit the shape.
pub fn write(kind: NpyType, shape: &[usize], data: &[u8]) -> Vec<u8> {
    assert_eq!(shape.iter().product::<usize>() * kind.bytes(), data.len(), "{shape:?} fits the data");
    let extents: Vec<String> = shape.iter().map(ToString::to_string).collect();
    let comma = if shape.len() == 1 { "," } else { "" };
    let (descr, extents) = (kind.descr(), extents.join(", "));
    let mut header = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': ({extents}{comma}), }}");
    // The data starts at a multiple of 64.
    let total = (MAGIC.len() + 4 + header.len() + 1).next_multiple_of(64);
    while MAGIC.len() + 4 + header.len() + 1 < total {
        header.push(' ');
    }
    header.push('\n');
    let length = u16::try_from(header.len()).expect("shapes of tensors are short");
    [MAGIC, &[1, 0], &length.to_le_bytes(), header.as_bytes(), data].concat()
}

/// The type, and whether it is big-endian.
fn kind(header: &str) -> Result<(NpyType, bool), NpyError> {
    let descr = field(header, "descr").and_then(|value| {
        let value = value.strip_prefix(['\'', '"'])?;
        value.split(['\'', '"']).next()
    });
    match descr {
        // Extension types of one and two bytes are saved as raw ones.
        Some("|u1" | "|i1" | "|b1" | "u1" | "<u1" | "<i1" | "|V1" | "<V1" | "<f1" | "|f1") => Ok((NpyType::U1, false)),
        Some("<u2" | "<i2" | "|V2" | "<V2") => Ok((NpyType::U2, false)),
        Some("<f2") => Ok((NpyType::F2, false)),
        Some("<f4") => Ok((NpyType::F4, false)),
        Some(">u2" | ">i2") => Ok((NpyType::U2, true)),
        Some(">f2") => Ok((NpyType::F2, true)),
        Some(">f4") => Ok((NpyType::F4, true)),
        other => {
            let found = other.unwrap_or("another structure");
            let found: String = found.chars().take(40).collect();
            Err(NpyError { problem: format!("expected elements of type |u1, <u2, <f2 or <f4, found {found}") })
        }
    }
}

/// What follows a key and its colon.
fn field<'a>(header: &'a str, key: &str) -> Option<&'a str> {
    let quoted = |quote: char| header.split_once(&format!("{quote}{key}{quote}"));
    let (_, rest) = quoted('\'').or_else(|| quoted('"'))?;
    rest.trim_start().strip_prefix(':').map(str::trim_start)
}

fn shape(header: &str) -> Option<Vec<usize>> {
    let inside = field(header, "shape")?.strip_prefix('(')?.split(')').next()?;
    let parts = inside.split(',').map(str::trim).filter(|part| !part.is_empty());
    let shape: Option<Vec<usize>> = parts.map(|part| part.parse().ok()).collect();
    shape.filter(|shape| shape.len() <= 8)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arrays_survive_a_round_trip() {
        for (kind, shape) in [
            (NpyType::U1, vec![3, 4]),
            (NpyType::U2, vec![7]),
            (NpyType::F2, vec![2, 3, 4]),
            (NpyType::F4, vec![]),
            (NpyType::F4, vec![0, 5]),
        ] {
            let bytes = shape.iter().product::<usize>() * kind.bytes();
            let data: Vec<u8> = (0..bytes).map(|i| i as u8).collect();
            let file = write(kind, &shape, &data);
            assert_eq!(parse(&file), Ok(Array { kind, shape: shape.clone(), data: &data }), "{kind:?} {shape:?}");
            assert!((file.len() - data.len()).is_multiple_of(64), "aligned");
        }
    }

    #[test]
    fn other_types_orders_and_sizes_are_refused() {
        let file = write(NpyType::F4, &[2, 2], &[0; 16]);
        let changed = |from: &str, to: &str| {
            let text: Vec<u8> = file.clone();
            let at = text.windows(from.len()).position(|w| w == from.as_bytes()).unwrap();
            [&text[..at], to.as_bytes(), &text[at + from.len()..]].concat()
        };
        assert!(parse(&changed("<f4", "<f8")).unwrap_err().to_string().contains("found <f8"), "doubles");
        assert!(parse(&changed("<f4", ">f4")).is_err(), "big endian");
        assert!(parse(&changed("False", "True ")).unwrap_err().to_string().contains("ascontiguousarray"), "order");
        assert!(parse(&changed("(2, 2)", "(2, 3)")).unwrap_err().to_string().contains("needs 24 bytes"), "size");
        assert!(parse(&changed("(2, 2)", "(-1,2)")).is_err(), "negative");
        assert!(parse(&file[..file.len() - 1]).is_err(), "truncated");
        assert!(parse(b"\x93NUMPY").is_err(), "only the magic");
    }
}
