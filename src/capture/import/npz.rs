//! `.npz` archives: one array a member. Nothing is unpacked that is not wanted, and never more than its header says.

use super::dump::{self, Dump, HEADER, Listed};
use std::fs::File;
use std::io::{BufReader, Read as _};
use std::path::Path;
use zip::ZipArchive;

/// Members of one archive at most.
const MAX_MEMBERS: usize = 20_000;

fn open(path: &Path) -> Result<ZipArchive<BufReader<File>>, String> {
    let file = File::open(path).map_err(|e| format!("cannot be read: {e}"))?;
    ZipArchive::new(BufReader::new(file)).map_err(|e| format!("not an archive that can be read, or truncated: {e}"))
}

/// The arrays of an archive.
pub(super) fn list(key: &str, path: &Path, wanted: &dyn Fn(&str, &str) -> bool) -> Result<Vec<Listed>, String> {
    let mut archive = open(path)?;
    if archive.len() > MAX_MEMBERS {
        return Err(format!("{} members are more than {MAX_MEMBERS}", archive.len()));
    }
    let mut arrays = Vec::new();
    for index in 0..archive.len() {
        let mut member = archive.by_index(index).map_err(|e| format!("member {index} cannot be read: {e}"))?;
        if member.is_dir() {
            continue;
        }
        let stem = member.name().trim_end_matches(".npy").to_owned();
        let key = format!("{key}:{stem}");
        if !wanted(&key, &stem) {
            // Its header stays unread; that it is there is still said.
            arrays.push(Err((key, stem, "not asked for".to_owned())));
            continue;
        }
        let length = member.size();
        let mut head = Vec::new();
        let read = member.by_ref().take(HEADER as u64).read_to_end(&mut head);
        let listed = match read {
            Err(error) => Err(format!("cannot be unpacked: {error}")),
            Ok(_) => dump::array(&head, length),
        };
        arrays.push(match listed {
            Ok(array) => Ok(Dump::of_member(key, stem, path, index, &array)),
            Err(reason) => Err((key, stem, reason)),
        });
    }
    Ok(arrays)
}

/// The data of a member: `bytes` of it behind `skip`, and no more.
pub(super) fn read(path: &Path, member: usize, skip: usize, bytes: usize) -> Result<Vec<u8>, String> {
    let mut archive = open(path)?;
    let mut member = archive.by_index(member).map_err(|e| format!("the member cannot be read: {e}"))?;
    let mut data = Vec::new();
    let whole = skip.checked_add(bytes).and_then(|n| n.checked_add(1)).ok_or("its header states too many bytes")?;
    // Grows as bytes come: an archive that claims much and holds little costs little.
    member.by_ref().take(whole as u64).read_to_end(&mut data).map_err(|e| format!("cannot be unpacked: {e}"))?;
    if data.len() != skip + bytes {
        return Err(format!("expected {bytes} bytes of data, found {}", data.len().saturating_sub(skip)));
    }
    data.drain(..skip);
    Ok(data)
}
