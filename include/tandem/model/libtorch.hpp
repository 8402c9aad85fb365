// The headers of libtorch that tandem uses, precompiled once for all modules. torch/torch.h, which
// includes all of them, takes twice as long to compile.
#pragma once

#include <torch/nn/module.h>
#include <torch/nn/modules/batchnorm.h>
#include <torch/nn/modules/container/sequential.h>
#include <torch/nn/modules/conv.h>
#include <torch/nn/modules/linear.h>
#include <torch/types.h>
#include <torch/utils.h>
