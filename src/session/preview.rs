//! The first look at a tensor on a device: painted there, four bytes a token, before its own bytes are read back for
//! the verdicts. The picture made of the bytes replaces it.

use super::afar::Blend;
use super::colour::colour;
use super::paint::{Style, spanned};
use super::picture::{Legend, Picture};
use super::{Basis, ColourMap, Image, Range, Reduction, Session, Side};
use crate::engine::vulkan::colour::{self as device, Look, PALETTE, Show};
use crate::engine::{Engine, EngineError};
use crate::tensor::TensorName;
use std::sync::Arc;

/// Paints a tensor that an engine holds, if engine and style can.
pub(crate) fn preview(
    engine: &mut dyn Engine,
    name: &TensorName,
    style: &Style,
) -> Result<Option<Picture>, EngineError> {
    let show = match style.reduction {
        Reduction::Channel => Show::Channel(style.channel),
        Reduction::Mean => Show::Mean,
        Reduction::Max => Show::MaxAbs,
        Reduction::L2 => Show::Length,
        // Ranges of their own for each colour, and counts: of the bytes alone.
        Reduction::Rgb | Reduction::Codes => return Ok(None),
    };
    let range = match style.range {
        Range::Auto => None,
        Range::Fixed(low, high) => Some(device::Range { low, high }),
        Range::Percentile(_) => return Ok(None),
    };
    if style.image != Image::Tensor || style.log {
        return Ok(None);
    }
    let first = Look { show, range, palette: palette(style.map) };
    let Some(mut found) = engine.picture_of(name, &first)? else { return Ok(None) };
    let scale = spanned(found.range.low, found.range.high, style);
    let wanted = Look { range: Some(device::Range { low: scale.low, high: scale.high }), ..first.clone() };
    let wanted = Look { palette: palette(scale.map), ..wanted };
    if wanted.palette != first.palette || wanted.range != Some(found.range) {
        // The map depends on the range: now it is known.
        let Some(again) = engine.picture_of(name, &wanted)? else { return Ok(None) };
        found = again;
    }
    let legend =
        Legend::Scale { map: scale.map, low: scale.low, high: scale.high, log: false, unit: "value".to_owned() };
    Ok(Some(Picture::new(name, found.size, found.pixels, legend, Blend::Mean)))
}

fn palette(map: ColourMap) -> Box<[[u8; 4]; PALETTE]> {
    Box::new(std::array::from_fn(|step| match step {
        256 => [255, 0, 255, 255],
        _ => {
            let [r, g, b] = colour(map, step as f32 / 255.0);
            [r, g, b, 255]
        }
    }))
}

impl Session {
    /// The first look at what the canvas is about, as long as the subject's tensor is not there.
    pub(super) fn previewed(&self) -> Option<&Arc<Picture>> {
        let name = &self.selection.tensor;
        let absent = self.view.basis == Basis::Accumulated && self.tensor(Side::Subject, name).is_none();
        self.preview.as_ref().filter(|picture| absent && self.view.image == Image::Tensor && picture.tensor == *name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::{Control, EngineInfo, StepReport};
    use crate::geometry::Size;
    use crate::model::Model;
    use crate::plan::{Plan, Step};
    use crate::session::Difference;
    use crate::session::paint::{Order, paint};
    use crate::tensor::{Bytes, Element, Shape, Tensor};

    /// A device of one tensor, in the CPU's spelling of what its shader does.
    struct Device(Tensor);

    impl Engine for Device {
        fn info(&self) -> EngineInfo {
            EngineInfo { name: String::new(), device: String::new(), exact: true }
        }
        fn load(&mut self, _: &Arc<Plan>, _: &Arc<Model>) -> Result<(), EngineError> {
            Ok(())
        }
        fn write(&mut self, _: Tensor) -> Result<(), EngineError> {
            Ok(())
        }
        fn run(&mut self, _: &Step, _: &Control) -> Result<StepReport, EngineError> {
            Err(EngineError::Cancelled)
        }
        fn read(&mut self, _: &TensorName) -> Result<Tensor, EngineError> {
            panic!("a first look reads nothing")
        }
        fn release(&mut self, _: &TensorName) {}
        fn picture_of(&mut self, name: &TensorName, look: &Look) -> Result<Option<device::Picture>, EngineError> {
            let tensor = &self.0;
            if *name != tensor.name {
                return Ok(None);
            }
            let values: Vec<f32> = (0..tensor.shape.tokens()).map(|t| device::value(tensor, t, look.show)).collect();
            let low = values.iter().copied().fold(f32::MAX, f32::min);
            let high = values.iter().copied().fold(f32::MIN, f32::max);
            let range = look.range.unwrap_or(device::Range { low, high });
            let pixels = values.iter().map(|&value| look.palette[range.step(value)]).collect();
            let duration = std::time::Duration::ZERO;
            Ok(Some(device::Picture { size: tensor.shape.size, pixels, range, duration }))
        }
    }

    #[test]
    fn a_first_look_is_the_picture_that_the_bytes_give() {
        let shape = Shape::new(Element::E4m3, Size::new(16, 8), 4);
        for sign in [0_u8, 0x80] {
            let codes: Vec<u8> =
                (0..shape.elements()).map(|i| (i % 0x70) as u8 | if i % 3 == 0 { sign } else { 0 }).collect();
            let tensor = Tensor::new("block-3".into(), shape, Bytes::copy(&codes)).unwrap();
            let style = Style {
                image: Image::Tensor,
                reduction: Reduction::Channel,
                channel: 1,
                rgb: [0, 1, 2],
                map: ColourMap::Auto,
                range: Range::Auto,
                log: false,
                difference: Difference::Code,
                valid: shape.size,
                with_difference: false,
            };
            let order = Order { subject: Some(tensor.clone()), reference: None, features: None, style };
            let painted = paint(&order).subject.unwrap();
            let looked = preview(&mut Device(tensor), &"block-3".into(), &style).unwrap().unwrap();
            assert_eq!(looked.legend, painted.legend, "the same map and range");
            let far = |(a, b): (&[u8; 4], &[u8; 4])| (0..4).map(|c| a[c].abs_diff(b[c])).max().unwrap_or(0);
            let most = looked.pixels.iter().zip(&painted.pixels).map(far).max();
            assert!(most < Some(6), "256 steps against 1024: {most:?}");
            let logarithmic = Style { log: true, ..style };
            let none = preview(&mut Device(looked_tensor(&codes, shape)), &"block-3".into(), &logarithmic).unwrap();
            assert!(none.is_none(), "what a device cannot is left to the bytes");
        }
    }

    fn looked_tensor(codes: &[u8], shape: Shape) -> Tensor {
        Tensor::new("block-3".into(), shape, Bytes::copy(codes)).unwrap()
    }
}
