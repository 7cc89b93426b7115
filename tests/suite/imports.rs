//! Imports: every format in every layout comes back as the bytes that it was made of; what is unclear, wrong or damaged
//! is refused with what to do; a watched folder is read as it grows.

use blockscope::capture::import::{Entry, Format, Layout, Mapping, Order, Survey};
use blockscope::capture::watch::{Arrival, Watch};
use blockscope::capture::{CaptureError, Recording};
use blockscope::engine::Control;
use blockscope::frame;
use blockscope::geometry::{Geometry, Size};
use blockscope::numerics::{e4m3, f16};
use blockscope::plan::{Detail, Plan};
use blockscope::tensor::{Bytes, Element, Shape, Tensor, TensorName, npy};
use std::collections::BTreeMap;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

const SQUARE: Size = Size::new(64, 64);
const WIDE: Size = Size::new(96, 72);

fn geometry(size: Size) -> Geometry {
    Geometry::new(size).expect("a size that runs")
}

/// A smooth tensor of the plan: waves of a few tokens' length, different in every channel, with a little noise.
fn smooth(plan: &Plan, name: &str) -> Tensor {
    let name: TensorName = name.into();
    let shape: Shape = plan.shape(&name);
    let mut values = Vec::with_capacity(shape.elements());
    for token in 0..shape.tokens() {
        let (x, y) = ((token % shape.size.width) as f32, (token / shape.size.width) as f32);
        for c in 0..shape.channels {
            let phase = (c * 37 % 101) as f32;
            let wave = ((x * 0.21 + phase).sin() + (y * 0.17 + phase * 1.7).cos()) * (1.0 + (c % 5) as f32);
            let noise = ((token * 31 + c * 17) * 2_654_435_761 % 1009) as f32 / 1009.0 - 0.5;
            values.push(wave + noise * 0.2);
        }
    }
    let half = |v: &f32| f16::from_f32(*v);
    let bytes = match shape.element {
        Element::E4m3 => Bytes::copy(&values.iter().map(|v| e4m3::publish(half(v))).collect::<Vec<u8>>()),
        Element::F16 => Bytes::copy(&values.iter().map(half).collect::<Vec<f16>>()),
        Element::F32 => Bytes::copy(&values),
    };
    Tensor::new(name, shape, bytes).expect("bytes of the shape")
}

/// The bits of a format that have the value of a code, if any do.
fn narrow(format: Format, code: u8) -> Option<u32> {
    let value = e4m3::decode(code);
    (0..256).find(|&bits| format.value(bits).to_bits() == value.to_bits())
}

/// The tensor, changed where a format cannot hold its values.
fn exact(format: Format, tensor: &Tensor) -> Tensor {
    let mut bytes = tensor.bytes().to_vec();
    if tensor.shape.element == Element::E4m3 && format.bytes() == 1 {
        let held: Vec<bool> = (0..=255).map(|code| format == Format::E4m3 || narrow(format, code).is_some()).collect();
        for code in bytes.iter_mut().filter(|code| !held[usize::from(**code)]) {
            *code = 0x38 | *code & 0x80;
        }
    }
    if tensor.shape.element == Element::F16 && format == Format::Bf16 {
        bytes.as_chunks_mut::<2>().0.iter_mut().for_each(|half| half[0] &= 0xf8);
    }
    Tensor::new(tensor.name.clone(), tensor.shape, Bytes::copy(&bytes)).expect("the same shape")
}

/// A tensor as a dump.
fn dump(tensor: &Tensor, format: Format, layout: &Layout) -> Vec<u8> {
    let (shape, width) = (tensor.shape, format.bytes());
    let places = layout.places(shape, width).expect("it can lie so");
    let codes: Vec<u32> = match width {
        1 => (0..=255).map(|code| narrow(format, code).unwrap_or_default()).collect(),
        _ => Vec::new(),
    };
    let mut out = vec![0_u8; places.elements() * width];
    for token in 0..shape.tokens() {
        for c in 0..shape.channels {
            let (bits, value) = (tensor.bits(token, c), tensor.value(token, c));
            let bits = match format {
                Format::F32 => value.to_bits(),
                Format::F16 => u32::from(f16::from_f32(value).to_bits()),
                Format::Bf16 => value.to_bits() >> 16,
                Format::E4m3 => bits,
                Format::E4m3Fnuz | Format::E5m2 => codes[bits as usize],
            };
            let at = (places.token(token) + places.channel(c)) * width;
            out[at..at + width].copy_from_slice(&bits.to_le_bytes()[..width]);
        }
    }
    out
}

fn folder() -> tempfile::TempDir {
    tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a temporary directory")
}

fn survey(path: &Path, size: Size) -> Survey {
    Survey::new(path, geometry(size), &Mapping::default()).expect("dumps")
}

fn refusal(path: &Path, mapping: &Mapping) -> String {
    match Survey::new(path, geometry(SQUARE), mapping) {
        Err(error @ CaptureError::Refused { .. }) => error.to_string(),
        other => panic!("expected a refusal, found {other:?}"),
    }
}

/// Layouts tried: every order, two phases, and a pitch where there are rows.
fn layouts(shape: Shape, width: usize) -> Vec<Layout> {
    let mut all = Vec::new();
    for order in Order::ALL {
        let plain = Layout::plain(order, 0);
        if plain.places(shape, width).is_err() {
            continue;
        }
        let windows = order.name().starts_with("windows");
        all.extend(windows.then(|| Layout::plain(order, 3)));
        let row = match order {
            Order::RowMajor => Some(shape.size.width * shape.channels),
            Order::ChannelsFirst => Some(shape.size.width),
            _ => None,
        };
        all.extend(row.map(|row| Layout { pitch: Some((row * width + 1).next_multiple_of(64)), ..plain.clone() }));
        all.push(plain);
    }
    all
}

#[test]
fn every_format_in_every_layout_comes_back_exactly() {
    for (size, name) in [(SQUARE, "block-20"), (WIDE, "block-20"), (SQUARE, "block-20/output_raw")] {
        let plan = Plan::new(geometry(size), Detail::Raw);
        let original = smooth(&plan, name);
        for format in Format::ALL.into_iter().filter(|f| f.may_hold(original.shape.element)) {
            let tensor = exact(format, &original);
            for layout in layouts(tensor.shape, format.bytes()) {
                let folder = folder();
                let file = format!("{}.bin", name.replace('/', "_"));
                fs::write(folder.path().join(file), dump(&tensor, format, &layout)).expect("written");
                let survey = survey(folder.path(), size);
                let decided = survey.decide(&|_| Some(tensor.clone()));
                let one = &decided[0];
                let found =
                    survey.read(one).unwrap_or_else(|e| panic!("{size} {name} {} {layout}: {e}", format.name()));
                assert_eq!(found.digest(), tensor.digest(), "{size} {name} {} {layout}: {one:?}", format.name());
                let reading = one.reading.as_ref().expect("read");
                assert_eq!(reading.format, format, "{layout}: {one:?}");
                assert_eq!(one.confidence, 1.0, "every byte is the reference's");
            }
        }
    }
}

/// Layouts of an upright plane, which is the convention: nothing but a reference tells a turned one that is nearly square.
fn upright(shape: Shape, width: usize) -> impl Iterator<Item = Layout> {
    layouts(shape, width).into_iter().filter(|layout| !layout.order.name().starts_with("transposed"))
}

/// What a dump is read as without a reference: its own bytes, or a refusal, never other bytes.
fn read_alone(tensor: &Tensor, format: Format, layout: &Layout, size: Size) -> bool {
    let folder = folder();
    let file = format!("{}.bin", tensor.name.as_str().replace('/', "_"));
    fs::write(folder.path().join(file), dump(tensor, format, layout)).expect("written");
    let survey = survey(folder.path(), size);
    let decided = survey.decide(&|_| None);
    let Ok(found) = survey.read(&decided[0]) else { return false };
    assert_eq!(found.digest(), tensor.digest(), "{} {} {layout}: {:?}", tensor.name, format.name(), decided[0]);
    true
}

#[test]
fn without_a_reference_plain_orders_are_read_and_nothing_is_guessed() {
    let plan = Plan::new(geometry(WIDE), Detail::Raw);
    let tensor = smooth(&plan, "block-3");
    for format in [Format::E4m3, Format::F16, Format::F32, Format::Bf16] {
        for layout in upright(tensor.shape, format.bytes()) {
            let read = read_alone(&tensor, format, &layout, WIDE);
            // Block 3 has one head, so that head-major is row-major.
            let plain = matches!(layout.order, Order::RowMajor | Order::ChannelsFirst | Order::HeadMajor);
            assert!(!read || plain, "{} {layout}: only plain orders are taken", format.name());
            assert!(read || layout.order != Order::RowMajor, "{} {layout}: a smooth plane is clear", format.name());
        }
    }
}

#[test]
fn real_boundaries_are_never_read_wrongly_without_a_reference() {
    for name in ["exact/boundaries/block-23", "divergent/boundaries/block-9"] {
        let (sample, boundary) = name.split_once("/boundaries/").expect("two parts");
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("captures").join(sample);
        let tensor = Recording::open(&folder).expect("a sample").tensor(&boundary.into()).expect("a boundary");
        for format in [Format::E4m3, Format::F16, Format::F32] {
            for layout in upright(tensor.shape, format.bytes()) {
                read_alone(&tensor, format, &layout, SQUARE);
            }
        }
    }
}

#[test]
fn permuted_channels_are_recovered_although_values_differ() {
    let plan = Plan::new(geometry(SQUARE), Detail::Raw);
    let tensor = smooth(&plan, "block-12");
    let permutation: Vec<usize> = (0..tensor.shape.channels).map(|c| c / 32 * 32 + (c % 32 * 11 + 5) % 32).collect();
    for order in [Order::RowMajor, Order::ChannelsFirst] {
        let layout = Layout { permutation: Some(permutation.clone()), ..Layout::plain(order, 0) };
        let mut bytes = dump(&tensor, Format::E4m3, &layout);
        // One value in nine differs, in every channel.
        bytes.iter_mut().step_by(9).for_each(|code| *code ^= 1);
        let folder = folder();
        fs::write(folder.path().join("b12.fp8"), &bytes).expect("written");
        let survey = survey(folder.path(), SQUARE);
        let decided = survey.decide(&|_| Some(tensor.clone()));
        let reading = decided[0].reading.as_ref().unwrap_or_else(|e| panic!("{e}"));
        assert_eq!(reading.layout, layout, "{order:?}");
        let found = survey.read(&decided[0]).expect("read");
        let equal = found.bytes().iter().zip(tensor.bytes()).filter(|(a, b)| a == b).count();
        assert_eq!(equal, tensor.bytes().len() - bytes.len().div_ceil(9), "only what differs, differs");
    }
}

#[test]
fn what_is_ambiguous_is_refused_with_the_ranked_readings_and_a_mapping_decides() {
    let plan = Plan::new(geometry(SQUARE), Detail::Raw);
    let shape = plan.shape(&"block-12".into());
    // Noise has no neighbours.
    let mixed = |i: usize| (i as u64 ^ (i as u64) << 21).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let noise: Vec<u8> = (0..shape.bytes()).map(|i| ((mixed(i) ^ mixed(i) >> 29) >> 17) as u8 & 0x37).collect();
    let folder = folder();
    fs::write(folder.path().join("block_12.u8"), &noise).expect("written");
    let first = survey(folder.path(), SQUARE);
    let decided = first.decide(&|_| None);
    let reason = decided[0].reading.as_ref().expect_err("nothing speaks for any").clone();
    for part in ["no reading is clear", "--map", "--model", "1. ", "row-major", "channels-first"] {
        assert!(reason.contains(part), "\"{part}\" is missing from: {reason}");
    }
    let mut mapping = first.mapping(&decided, "");
    let entry = mapping.dumps.get_mut("block_12.u8").expect("listed");
    assert!(!entry.alternatives.is_empty(), "what it may be");
    (entry.element, entry.layout) = (Some(Format::E4m3), Some(Order::ChannelsFirst));
    let text: Mapping = serde_json::from_str(&mapping.to_json()).expect("read back");
    assert_eq!(text, mapping, "as written");
    let second = Survey::new(folder.path(), geometry(SQUARE), &mapping).expect("dumps");
    let found = second.read(&second.decide(&|_| None)[0]).expect("read as told");
    let expected: Vec<u8> =
        (0..shape.elements()).map(|i| noise[i % shape.channels * shape.tokens() + i / shape.channels]).collect();
    assert!(found.bytes() == expected, "channels first");
    fs::write(folder.path().join("import.json"), mapping.to_json()).expect("written");
    let recording = Recording::open(folder.path()).expect("a folder with its mapping is a recording");
    assert!(recording.tensor(&"block-12".into()).expect("there").bytes() == expected, "the same");
    mapping.dumps.get_mut("block_12.u8").expect("listed").pitch = Some(3);
    let third = Survey::new(folder.path(), geometry(SQUARE), &mapping).expect("dumps");
    let wrong = third.decide(&|_| None)[0].reading.clone().expect_err("no such pitch");
    assert!(wrong.contains("expected a pitch of at least 44 bytes"), "{wrong}");
}

#[test]
fn sizes_that_fit_nothing_are_refused_with_those_that_would() {
    let folder = folder();
    fs::write(folder.path().join("block-12.bin"), vec![0_u8; 12_345]).expect("written");
    fs::write(folder.path().join("block-13.npy"), npy::write(npy::NpyType::U1, &[7, 11], &[0; 77])).expect("written");
    fs::write(folder.path().join("block-14_raw.fp8"), vec![0_u8; 44 * 40 * 128]).expect("written");
    let survey = survey(folder.path(), SQUARE);
    let said: BTreeMap<String, String> = survey
        .decide(&|_| None)
        .into_iter()
        .map(|one| (one.tensor.to_string(), one.reading.expect_err("it does not fit")))
        .collect();
    for part in
        ["12345 bytes fit no reading", "225280 bytes of e4m3", "450560 bytes of f16 or bf16", "901120 bytes of f32"]
    {
        assert!(said["block-12"].contains(part), "\"{part}\" is missing from: {}", said["block-12"]);
    }
    assert!(said["block-13"].contains("77 bytes fit no reading"), "{said:?}");
    assert!(said["block-14/output_raw"].contains("nothing was rounded"), "{said:?}");
}

#[test]
fn values_before_publication_are_refused_with_their_number_and_the_first() {
    let plan = Plan::new(geometry(SQUARE), Detail::Raw);
    let tensor = smooth(&plan, "block-12");
    let mut floats: Vec<f32> = tensor.bytes().iter().map(|&code| e4m3::decode(code)).collect();
    floats[300] = 1.0625;
    floats[400] = f32::NAN;
    let folder = folder();
    fs::write(folder.path().join("block-12.f32"), bytemuck::cast_slice::<f32, u8>(&floats)).expect("written");
    let survey = survey(folder.path(), SQUARE);
    let decided = survey.decide(&|_| Some(tensor.clone()));
    let error = survey.read(&decided[0]).expect_err("two values are no codes");
    for part in ["2 of 225280 values are no E4M3 codes", "first 1.0625e0 at token 2 (x 2, y 0) channel 44", "--map"] {
        assert!(error.contains(part), "\"{part}\" is missing from: {error}");
    }
    let target = folder.path().join("capture");
    let features = frame::synthetic::features(&plan.geometry, 1);
    assert!(
        survey.write(&decided, Some(&features), &target, &Control::new()).is_err() && !target.exists(),
        "nothing is left"
    );
}

/// An archive of arrays.
fn write_npz(path: &Path, arrays: &[(&str, Vec<u8>)]) {
    let mut zip = zip::ZipWriter::new(fs::File::create(path).expect("created"));
    for (name, array) in arrays {
        let options = zip::write::SimpleFileOptions::default().compression_method(zip::CompressionMethod::Deflated);
        zip.start_file(format!("{name}.npy"), options).expect("started");
        zip.write_all(array).expect("written");
    }
    zip.finish().expect("finished");
}

#[test]
fn containers_become_a_capture_with_what_their_headers_say() {
    let plan = Plan::new(geometry(SQUARE), Detail::Raw);
    let (block, raw, head) = (smooth(&plan, "block-12"), smooth(&plan, "block-12/output_raw"), smooth(&plan, "head"));
    let folder = folder();
    let path = folder.path();
    let first = Layout::plain(Order::ChannelsFirst, 0);
    let planes = dump(&block, Format::E4m3, &first);
    write_npz(
        &path.join("run.npz"),
        &[
            ("block_12", npy::write(npy::NpyType::U1, &[1, 128, 40, 44], &planes)),
            ("weights", npy::write(npy::NpyType::U1, &[3], &[1, 2, 3])),
        ],
    );
    let halves = dump(&raw, Format::F16, &first);
    let view = safetensors::tensor::TensorView::new(safetensors::Dtype::F16, vec![128, 40, 44], &halves);
    let file = safetensors::serialize([("layer12.raw", view.expect("a view"))], None).expect("serialized");
    fs::write(path.join("more.safetensors"), file).expect("written");
    // Big-endian, in Fortran order: (channels, width, height) in memory.
    let fortran = Layout::plain(Order::TransposedChannelsFirst, 0);
    let mut floats = dump(&head, Format::F32, &fortran);
    floats.as_chunks_mut::<4>().0.iter_mut().for_each(|b| b.reverse());
    let array = npy::write(npy::NpyType::F4, &[320, 336, 4], &floats);
    let text = String::from_utf8_lossy(&array[..128]).replace("<f4", ">f4").replace("False", "True ");
    let header: Vec<u8> =
        [b"\x93NUMPY\x01\x00".as_slice(), &array[8..10], &text.as_bytes()[text.len() - 118..]].concat();
    fs::write(path.join("head.npy"), [&header, &array[128..]].concat()).expect("written");
    let survey = survey(path, SQUARE);
    assert!(survey.skipped.iter().any(|(key, _)| key == "run.npz:weights"), "{:?}", survey.skipped);
    let decided = survey.decide(&|_| None);
    let target = path.join("capture");
    let features = frame::synthetic::features(&plan.geometry, 1);
    survey.write(&decided, Some(&features), &target, &Control::new()).expect("written");
    let recording = Recording::open(&target).expect("a capture");
    for tensor in [&block, &raw, &head, &features] {
        assert_eq!(recording.digest(&tensor.name).expect("there"), tensor.digest(), "{}", tensor.name);
    }
}

#[test]
fn damaged_and_hostile_files_are_refused() {
    let plan = Plan::new(geometry(SQUARE), Detail::Raw);
    let array = npy::write(npy::NpyType::U1, &[40, 44, 128], smooth(&plan, "block-12").bytes());
    let mut objects = array.clone();
    let at = objects.windows(3).position(|w| w == b"|u1").expect("a type");
    objects[at..at + 3].copy_from_slice(b"|O8");
    let cases: Vec<(&str, Vec<u8>, &str)> = vec![
        ("block-12.npy", array[..array.len() - 9].to_vec(), "truncated"),
        ("block-12.npy", b"\x93NUMPY\x01".to_vec(), "ends inside its header"),
        ("block-12.npy", b"not an array".to_vec(), "magic"),
        ("block-12.npy", objects, "found |O8"),
        ("a.npz", b"PK\x03\x04 and no more".to_vec(), "not an archive"),
        ("a.safetensors", vec![0xff; 64], "truncated"),
        ("a.safetensors", [&20_u64.to_le_bytes()[..], b"{\"block-12\": 3     }"].concat(), "cannot be used"),
        ("a.safetensors", vec![1, 2], "truncated"),
    ];
    for (name, bytes, said) in cases {
        let folder = folder();
        fs::write(folder.path().join(name), bytes).expect("written");
        let error = refusal(folder.path(), &Mapping::default());
        assert!(error.contains(said), "{name}: \"{said}\" is missing from: {error}");
    }
    let lie = r#"{"block-12":{"dtype":"U8","shape":[40,44,128],"data_offsets":[0,225280]}}"#;
    let folder = folder();
    let bytes = [&(lie.len() as u64).to_le_bytes()[..], lie.as_bytes(), &[0; 100]].concat();
    fs::write(folder.path().join("lie.safetensors"), bytes).expect("written");
    let error = refusal(folder.path(), &Mapping::default());
    assert!(error.contains("speaks of 225280 bytes of data, found 100"), "{error}");
}

#[test]
fn an_archive_that_unpacks_to_more_than_a_tensor_is_not_unpacked() {
    let folder = folder();
    let mut header = npy::write(npy::NpyType::U1, &[0], &[]);
    let text = String::from_utf8_lossy(&header[10..]).replacen("(0,)", "(67108864,)", 1);
    let length = (text.len() as u16).to_le_bytes();
    header = [b"\x93NUMPY\x01\x00".as_slice(), &length, text.as_bytes(), &vec![0; 1 << 26]].concat();
    write_npz(&folder.path().join("bomb.npz"), &[("block_12", header)]);
    let survey = survey(folder.path(), SQUARE);
    let reason = survey.decide(&|_| None)[0].reading.clone().expect_err("too large");
    assert!(reason.contains("67108864 bytes fit no reading"), "{reason}");
}

#[test]
fn names_are_unique_or_mapped_and_the_rest_is_listed() {
    let plan = Plan::new(geometry(SQUARE), Detail::Raw);
    let tensor = smooth(&plan, "block-12");
    let folder = folder();
    for name in ["block-12.bin", "b12_pub.u8", "mystery.bin", "notes.txt"] {
        fs::write(folder.path().join(name), tensor.bytes()).expect("written");
    }
    let error = refusal(folder.path(), &Mapping::default());
    assert!(error.contains("\"block-12\" is there 2 times: b12_pub.u8, block-12.bin"), "{error}");
    let mut mapping = Mapping::default();
    let entry = |tensor: &str| Entry { tensor: Some(tensor.to_owned()), ..Entry::default() };
    let skip = Entry { skip: Some("an old one".to_owned()), ..Entry::default() };
    mapping.dumps = BTreeMap::from([("b12_pub.u8".to_owned(), skip), ("mystery.bin".to_owned(), entry("block-13"))]);
    let survey = Survey::new(folder.path(), geometry(SQUARE), &mapping).expect("all is said");
    assert!(survey.tensors().map(TensorName::as_str).eq(["block-12", "block-13"]), "both");
    assert!(survey.skipped.iter().any(|(key, why)| key == "b12_pub.u8" && why == "an old one"), "skipped");
    mapping.dumps.insert("mystery.bin".to_owned(), entry("block-99"));
    mapping.dumps.insert("missing.bin".to_owned(), entry("block-14"));
    let error = refusal(folder.path(), &mapping);
    assert!(
        error.contains("\"block-99\", which is no tensor") && error.contains("missing.bin, which is not"),
        "{error}"
    );
    let nothing = tempfile::tempdir().expect("a folder");
    assert!(refusal(nothing.path(), &Mapping::default()).contains("expected dumps named after blocks"), "empty");
    assert!(Recording::open(nothing.path()).expect_err("no capture").to_string().contains("blockscope import"), "told");
}

#[test]
fn a_watched_folder_is_read_as_it_grows() {
    let plan = Plan::new(geometry(SQUARE), Detail::Raw);
    let tensors: Vec<Tensor> = ["block-12", "block-13", "block-14"].iter().map(|name| smooth(&plan, name)).collect();
    let folder = folder();
    let path = folder.path().to_owned();
    let dumps: Vec<(PathBuf, Vec<u8>)> = tensors
        .iter()
        .map(|t| (path.join(format!("{}.bin", t.name)), dump(t, Format::F32, &Layout::plain(Order::ChannelsFirst, 0))))
        .collect();
    let last = dumps.last().expect("three").clone();
    let writer = move || {
        fs::write(path.join("block-20.bin"), b"never finished").expect("written");
        for (path, bytes) in dumps {
            // A half of singles has the size of a whole of halves.
            let mut file = fs::File::create(path).expect("created");
            file.write_all(&bytes[..bytes.len() / 2]).expect("written");
            std::thread::sleep(Duration::from_millis(150));
            file.write_all(&bytes[bytes.len() / 2..]).expect("written");
        }
    };
    let writer = std::thread::Builder::new().name("a port".to_owned()).spawn(writer).expect("a thread");
    let times = (Duration::from_millis(40), Duration::from_millis(700));
    let mut watch = Watch::new(folder.path(), geometry(SQUARE), Mapping::default()).with_times(times.0, times.1);
    let expected = |name: &TensorName| tensors.iter().find(|t| t.name == *name).cloned();
    let (mut came, mut refused) = (BTreeMap::new(), Vec::new());
    let start = std::time::Instant::now();
    while start.elapsed() < Duration::from_secs(30) && (came.len() < 3 || refused.is_empty()) {
        for arrival in watch.poll(&expected) {
            match arrival {
                Arrival::Tensor { tensor, again, .. } => {
                    assert!(came.insert(tensor.name.clone(), tensor).is_none() || again);
                }
                Arrival::Refused { key, reason } => refused.push((key, reason)),
            }
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    writer.join().expect("it wrote");
    for tensor in &tensors {
        assert_eq!(came.get(&tensor.name).expect("it came").digest(), tensor.digest(), "{}", tensor.name);
    }
    let unfinished = refused.iter().find(|(key, _)| key == "block-20.bin").expect("told once it stayed wrong");
    assert!(unfinished.1.contains("14 bytes fit no reading"), "{refused:?}");
    std::thread::sleep(Duration::from_millis(20));
    fs::write(&last.0, &last.1).expect("written again");
    let mut again = Vec::new();
    while start.elapsed() < Duration::from_mins(1) && again.is_empty() {
        again = watch.poll(&expected);
        std::thread::sleep(Duration::from_millis(20));
    }
    assert!(matches!(&again[..], [Arrival::Tensor { again: true, .. }]), "{again:?}");
}
