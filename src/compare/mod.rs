//! Two tensors to counts by class and first difference; two runs to their first divergence.
