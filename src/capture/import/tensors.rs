//! `.safetensors` files: a JSON header that says where each array lies. The header is checked before it is believed.

use super::Format;
use super::dump::{Dump, Listed};
use safetensors::Dtype;
use safetensors::tensor::Metadata;
use std::fs::File;
use std::io::Read as _;
use std::path::Path;

/// A header larger than this is none.
const MAX_HEADER: u64 = 64 << 20;

/// The arrays of a file of so many bytes.
pub(super) fn list(key: &str, path: &Path, length: u64) -> Result<Vec<Listed>, String> {
    let cannot = |e: std::io::Error| format!("not a .safetensors file, or truncated: {e}");
    let mut file = File::open(path).map_err(cannot)?;
    let mut count = [0; 8];
    file.read_exact(&mut count).map_err(cannot)?;
    let header = u64::from_le_bytes(count);
    if header > MAX_HEADER || header > length - 8 {
        return Err(format!("not a .safetensors file, or truncated: a header of {header} bytes in a file of {length}"));
    }
    let mut json = Vec::new();
    file.take(header).read_to_end(&mut json).map_err(cannot)?;
    // Reading the metadata checks that offsets are contiguous, and that each array has the bytes of its shape.
    let metadata: Metadata = serde_json::from_slice(&json).map_err(|e| format!("its header cannot be used: {e}"))?;
    let (start, stated) = (8 + header, metadata.data_len() as u64);
    if stated != length - start {
        return Err(format!("its header speaks of {stated} bytes of data, found {}", length - start));
    }
    let mut arrays: Vec<_> = metadata.tensors().into_iter().collect();
    arrays.sort_by(|a, b| a.0.cmp(&b.0));
    let each = arrays.into_iter().map(|(name, info)| {
        let key = format!("{key}:{name}");
        let Some(formats) = formats(info.dtype) else {
            let dtype = info.dtype;
            let reason = format!("expected F8_E4M3, F8_E5M2, U8, F16, BF16 or F32, found {dtype:?}");
            return Err((key, name, reason));
        };
        let (from, to) = info.data_offsets;
        let range = (start + from as u64, to - from);
        Ok(Dump::of_range((key, name), path, range, formats, info.shape.clone()))
    });
    Ok(each.collect())
}

fn formats(dtype: Dtype) -> Option<Vec<Format>> {
    match dtype {
        // There is no word for the variant of bias 8, so some write it under this one.
        Dtype::F8_E4M3 => Some(vec![Format::E4m3, Format::E4m3Fnuz]),
        Dtype::F8_E5M2 => Some(vec![Format::E5m2]),
        Dtype::U8 | Dtype::I8 => Some(vec![Format::E4m3, Format::E4m3Fnuz, Format::E5m2]),
        Dtype::U16 | Dtype::I16 => Some(vec![Format::F16, Format::Bf16]),
        Dtype::F16 => Some(vec![Format::F16]),
        Dtype::BF16 => Some(vec![Format::Bf16]),
        Dtype::F32 => Some(vec![Format::F32]),
        _ => None,
    }
}
