//! Meshes cut into runs of triangles by what a pixel of them costs: most of a window is plain colour, and a software
//! driver that looks up a white texel for each of its pixels, and blends what hides everything, takes twice as long.

use egui::epaint::{Mesh, Vertex, WHITE_UV};

/// What a pixel takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// A texel, and blending.
    Textured,
    /// Blending.
    Solid,
    /// Neither: it hides what was there.
    Opaque,
}

/// Triangles of one kind in a row.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Run {
    pub(super) kind: Kind,
    /// First index, and how many.
    pub(super) first: usize,
    pub(super) count: usize,
    /// In square points.
    area: f32,
}

/// A run smaller than this is not worth a switch: textures draw it as well.
const WORTH: f32 = 3000.0;

/// The runs of a mesh, in its order.
pub(super) fn runs(mesh: &Mesh) -> Vec<Run> {
    let mut runs: Vec<Run> = Vec::new();
    if mesh.texture_id != egui::TextureId::default() {
        // Of another texture, any texel may have any colour.
        return vec![Run { kind: Kind::Textured, first: 0, count: mesh.indices.len(), area: 0.0 }];
    }
    for (index, triangle) in mesh.indices.as_chunks::<3>().0.iter().enumerate() {
        let corners = triangle.map(|i| mesh.vertices[i as usize]);
        let (kind, area) = (kind(&corners), area(&corners));
        match runs.last_mut() {
            Some(last) if last.kind == kind => (last.count, last.area) = (last.count + 3, last.area + area),
            _ => runs.push(Run { kind, first: 3 * index, count: 3, area }),
        }
    }
    let mut joined: Vec<Run> = Vec::new();
    for mut run in runs {
        if run.area < WORTH {
            run.kind = Kind::Textured;
        }
        match joined.last_mut() {
            Some(last) if last.kind == run.kind => last.count += run.count,
            _ => joined.push(run),
        }
    }
    joined
}

fn kind(corners: &[Vertex; 3]) -> Kind {
    if corners.iter().any(|corner| corner.uv != WHITE_UV) {
        Kind::Textured
    } else if corners.iter().all(|corner| corner.color.is_opaque()) {
        Kind::Opaque
    } else {
        Kind::Solid
    }
}

fn area([a, b, c]: &[Vertex; 3]) -> f32 {
    let (u, v) = (b.pos - a.pos, c.pos - a.pos);
    (u.x * v.y - u.y * v.x).abs() * 0.5
}

#[cfg(test)]
mod tests {
    use super::*;
    use egui::{Color32, Rect, pos2, vec2};

    #[test]
    fn large_plain_areas_stand_alone_and_the_order_stays() {
        let mut mesh = Mesh::default();
        let rect = |side: f32| Rect::from_min_size(pos2(3.0, 4.0), vec2(side, side));
        mesh.add_colored_rect(rect(10.0), Color32::WHITE);
        mesh.add_rect_with_uv(rect(500.0), rect(1.0), Color32::WHITE);
        mesh.add_colored_rect(rect(100.0), Color32::RED);
        mesh.add_colored_rect(rect(200.0), Color32::RED);
        mesh.add_colored_rect(rect(100.0), Color32::from_black_alpha(90));
        mesh.add_colored_rect(rect(20.0), Color32::RED);
        let found: Vec<(Kind, usize, usize)> = runs(&mesh).iter().map(|run| (run.kind, run.first, run.count)).collect();
        let expected = [(Kind::Textured, 0, 12), (Kind::Opaque, 12, 12), (Kind::Solid, 24, 6), (Kind::Textured, 30, 6)];
        assert_eq!(found, expected, "small ones go with the textures");
        mesh.texture_id = egui::TextureId::User(7);
        assert_eq!(runs(&mesh).len(), 1, "a picture's corner is no plain white");
    }
}
