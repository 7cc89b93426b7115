// One group of 16 products on the device's matrix unit, onto 16 x 16 sums, a workgroup each: what `engine::vulkan::matrix_unit`
// looks at before any kernel trusts the unit.
// target: vulkan1.3
#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_KHR_cooperative_matrix : require
#extension GL_KHR_memory_scope_semantics : require
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_arithmetic : require
#extension GL_KHR_shader_subgroup_shuffle : require
#extension GL_EXT_shader_explicit_arithmetic_types_float16 : require
#extension GL_EXT_shader_explicit_arithmetic_types_int16 : require
#extension GL_EXT_bfloat16 : require
#extension GL_EXT_control_flow_attributes : require
#pragma use_vulkan_memory_model
#define JOINT 1
#define EXPONENTS 1
#include "include/matrix.glsl"

layout(local_size_x = 32) in;
/// For every workgroup 16 rows and 16 columns of 16 codes, and 16 rows of 16 halves: 32 + 32 vectors.
layout(set = 0, binding = 0) readonly buffer Input { uvec4 data[]; } input_;
/// The sums, row after row.
layout(set = 0, binding = 1) writeonly buffer Output { uvec2 data[]; } output_;

/// Rows, then columns: two vectors of values and two of powers each.
shared uvec4 staged[32 * 4];

void main() {
    uint lane = gl_LocalInvocationIndex;
    uint from = gl_WorkGroupID.x * 64u;
    uvec4 bytes = input_.data[from + lane];
    describe_codes(32u);
    barrier();
    STAGE16(staged, 4u * lane, 2u, bytes);
    barrier();
    MATRIX(float16_t, 16, A) values;
    MATRIX(bfloat16_t, 16, A) powers;
    coopMatLoad(values, staged, 0, 4, ROW_MAJOR);
    coopMatLoad(powers, staged, 2, 4, ROW_MAJOR);
    Columns columns[1];
    coopMatLoad(columns[0].values[0], staged, 64, 4, COLUMN_MAJOR);
    coopMatLoad(columns[0].values[1], staged, 96, 4, COLUMN_MAJOR);
    coopMatLoad(columns[0].powers, staged, 66, 4, COLUMN_MAJOR);
    uvec2 sums[2];
    for (uint j = 0u; j < 2u; j++) {
        uvec4 eight = input_.data[from + 32u + 2u * exchanged_row() + j];
        sums[j] = exchange(exchanged_column() == 0u ? eight.xy : eight.zw);
    }
    group16(beside(values, powers, largest_terms()), columns, 0u, sums);
    for (uint j = 0u; j < 2u; j++) {
        uvec2 four = exchange(sums[j]);
        output_.data[gl_WorkGroupID.x * 64u + 4u * exchanged_row() + 2u * j + exchanged_column() / 4u] = four;
    }
}
