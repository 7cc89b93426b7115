// One product of the device's matrix unit as it comes: 16 x 16 halves, 16 x 16 halves, singles. What `engine::vulkan::matrix_unit`
// looks at before any kernel trusts the unit.
// target: vulkan1.3
#version 450
#extension GL_KHR_cooperative_matrix : require
#extension GL_KHR_memory_scope_semantics : require
#extension GL_EXT_shader_explicit_arithmetic_types_float16 : require
#pragma use_vulkan_memory_model

layout(local_size_x = 32) in;
/// Rows of A, columns of B, rows of C.
layout(set = 0, binding = 0) readonly buffer Input { uint data[]; } input_;
layout(set = 0, binding = 1) writeonly buffer Output { float data[]; } output_;

shared uint halves_[256];
shared float singles_[256];

void main() {
    uint tid = gl_LocalInvocationIndex;
    for (uint i = tid; i < 256u; i += 32u) {
        halves_[i] = input_.data[i];
        singles_[i] = uintBitsToFloat(input_.data[256u + i]);
    }
    barrier();
    coopmat<float16_t, gl_ScopeSubgroup, 16, 16, gl_MatrixUseA> a;
    coopmat<float16_t, gl_ScopeSubgroup, 16, 16, gl_MatrixUseB> b;
    coopmat<float, gl_ScopeSubgroup, 16, 16, gl_MatrixUseAccumulator> c;
    coopMatLoad(a, halves_, 0, 8, gl_CooperativeMatrixLayoutRowMajor);
    coopMatLoad(b, halves_, 128, 8, gl_CooperativeMatrixLayoutColumnMajor);
    coopMatLoad(c, singles_, 0, 16, gl_CooperativeMatrixLayoutRowMajor);
    c = coopMatMulAdd(a, b, c);
    barrier();
    coopMatStore(c, singles_, 0, 16, gl_CooperativeMatrixLayoutRowMajor);
    barrier();
    for (uint i = tid; i < 256u; i += 32u) output_.data[i] = singles_[i];
}
