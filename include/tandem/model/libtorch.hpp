// What: the parts of libtorch that tandem is written against; torch/torch.h, which holds all of it,
// takes twice as long to read. Precompiled once for every module that uses libtorch.
// Owns: nothing. Threads: any. Throws: nothing.
#pragma once

#include <torch/nn/module.h>
#include <torch/nn/modules/batchnorm.h>
#include <torch/nn/modules/container/sequential.h>
#include <torch/nn/modules/conv.h>
#include <torch/nn/modules/linear.h>
#include <torch/types.h>
#include <torch/utils.h>
