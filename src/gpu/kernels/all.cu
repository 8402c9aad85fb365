#include "device.cuh"

#include "augment.cu"
#include "muon.cu"
#include "norm_backward.cu"
#include "norm_forward.cu"
#include "step.cu"
