"""What users write: data types, devices, operators, kernels and problems."""
