//! Arrays and pictures: what a header claims is checked against the bytes that are there before memory is taken.

use super::edit::{damage, damaged};
use super::{fuzz, fuzz_slowly};
use blockscope::frame::Picture;
use blockscope::tensor::npy::{self, NpyType};
use image::{DynamicImage, ImageFormat};
use proptest::prelude::*;
use proptest::sample::select;
use std::io::Cursor;

#[test]
fn an_array_is_refused_or_fits_its_shape() {
    let data: Vec<u8> = (0..96).collect();
    let valid: Vec<Vec<u8>> = [
        (NpyType::U1, &[96][..]),
        (NpyType::U2, &[6, 8]),
        (NpyType::F2, &[2, 3, 8]),
        (NpyType::F4, &[1, 2, 3, 4]),
        (NpyType::F4, &[0]),
        (NpyType::F4, &[]),
    ]
    .map(|(kind, shape)| npy::write(kind, shape, &data[..shape.iter().product::<usize>() * kind.bytes()]))
    .to_vec();
    // Versions 2 and 3 have four bytes of header length.
    let wide = |file: &Vec<u8>| [&file[..6], &[2, 0], &file[8..10], &[0, 0], &file[10..]].concat();
    let valid: Vec<Vec<u8>> = valid.iter().cloned().chain(valid.iter().map(wide)).collect();
    assert!(valid.iter().all(|file| npy::parse(file).is_ok()), "valid before they are damaged");
    let raw = proptest::collection::vec(any::<u8>(), 0..120);
    let damaged = (select(valid), damage(3)).prop_map(|(file, damage)| damaged(&file, &damage));
    fuzz("arrays", &prop_oneof![5 => damaged, 1 => raw], |file| {
        let Ok(array) = npy::parse(&file) else { return Ok(false) };
        let elements = array.shape.iter().try_fold(1_usize, |n, &side| n.checked_mul(side));
        prop_assert_eq!(elements.map(|n| n * array.kind.bytes()), Some(array.data.len()), "{:?}", array.shape);
        Ok(true)
    });
}

/// A small picture in every format that is read.
fn pictures() -> Vec<Vec<u8>> {
    let rgb = image::RgbImage::from_fn(20, 14, |x, y| image::Rgb([x as u8 * 9, y as u8 * 11, 40]));
    let rgb = DynamicImage::ImageRgb8(rgb);
    let forms = [
        (ImageFormat::Png, rgb.clone()),
        (ImageFormat::Png, DynamicImage::ImageLuma16(rgb.to_luma16())),
        (ImageFormat::Jpeg, rgb.clone()),
        (ImageFormat::WebP, rgb.clone()),
        (ImageFormat::Tiff, rgb.clone()),
        (ImageFormat::Pnm, rgb.clone()),
        (ImageFormat::Hdr, DynamicImage::ImageRgb32F(rgb.to_rgb32f())),
        (ImageFormat::OpenExr, DynamicImage::ImageRgb32F(rgb.to_rgb32f())),
    ];
    let encode = |(format, picture): (ImageFormat, DynamicImage)| {
        let mut bytes = Vec::new();
        picture.write_to(&mut Cursor::new(&mut bytes), format).unwrap_or_else(|e| panic!("{format:?}: {e}"));
        bytes
    };
    let pfm = [b"PF\n20 14\n-1.0\n".as_slice(), &[0x3e; 20 * 14 * 12]].concat();
    forms.into_iter().map(encode).chain([pfm]).collect()
}

#[test]
fn a_picture_is_refused_or_has_all_its_pixels() {
    let valid = pictures();
    for file in &valid {
        let size = Picture::decode(file, 1.0).map(|picture| (picture.size.width, picture.size.height));
        assert_eq!(size, Ok((20, 14)), "valid before it is damaged");
    }
    let damaged = (select(valid), damage(3)).prop_map(|(file, damage)| damaged(&file, &damage));
    fuzz_slowly("pictures", 600, &damaged, |file| {
        let Ok(picture) = Picture::decode(&file, 1.0) else { return Ok(false) };
        prop_assert_eq!(picture.pixels.len(), picture.size.tokens(), "{}", picture.size);
        prop_assert!(picture.pixels.iter().flatten().all(|code| code.is_finite()), "code values");
        Ok(true)
    });
}

/// Headers of a few bytes that claim pictures of many gigabytes.
#[test]
fn a_header_that_claims_a_huge_picture_is_refused_for_its_size() {
    let png = |width: u32, height: u32| {
        let mut header = b"IHDR".to_vec();
        header.extend([width.to_be_bytes(), height.to_be_bytes()].concat());
        header.extend([16, 6, 0, 0, 0]);
        let crc = header.iter().fold(u32::MAX, |crc, &byte| {
            (0..8).fold(crc ^ u32::from(byte), |c, _| (c >> 1) ^ if c & 1 == 1 { 0xedb8_8320 } else { 0 })
        });
        [b"\x89PNG\r\n\x1a\n\0\0\0\r".as_slice(), &header, &(!crc).to_be_bytes(), b"\0\0\0\0IDAT\x35\xaf\x06\x1e"]
            .concat()
    };
    let pfm = |side: &str| format!("PF\n{side} {side}\n-1.0\n").into_bytes();
    let ppm = |side: &str| format!("P6\n{side} {side}\n255\n").into_bytes();
    let hdr = |side: &str| format!("#?RADIANCE\nFORMAT=32-bit_rle_rgbe\n\n-Y {side} +X {side}\n").into_bytes();
    let mut jpeg = Vec::new();
    let small = DynamicImage::new_rgb8(8, 8);
    small.write_to(&mut Cursor::new(&mut jpeg), ImageFormat::Jpeg).expect("encoded");
    let frame = jpeg.windows(2).position(|marker| marker == [0xff, 0xc0]).expect("a frame header");
    jpeg[frame + 5..frame + 9].copy_from_slice(&[0x3f, 0xff, 0x3f, 0xff]);
    let files = [
        png(16_384, 16_384),
        png(u32::MAX, 1),
        png(1, 0x7fff_ffff),
        png(0x7fff_ffff, 0x7fff_ffff),
        pfm("16384"),
        pfm("18446744073709551615"),
        ppm("16384"),
        ppm("4294967295"),
        hdr("16384"),
        hdr("4294967295"),
        jpeg,
    ];
    for file in files {
        let shown: String = file.iter().take(60).map(|&b| std::ascii::escape_default(b).to_string()).collect();
        assert!(Picture::decode(&file, 1.0).is_err(), "{shown}");
    }
}
