// What: GELU as torch::gelu computes it, but fast for bfloat16 on CPUs. Private to the module.
// Owns: tables of its own, kept alive by what autograd remembers. Threads: any.
// Throws: c10::Error where a tensor does not fit.
#pragma once

#include "tandem/kernels/gelu.hpp"
#include "tandem/model/libtorch.hpp"

namespace tandem::model {

class Gelu {
 public:
  Gelu();
  // Of any shape; dense tensors keep their memory format.
  torch::Tensor operator()(const torch::Tensor& x) const;

  struct Tables : public torch::CustomClassHolder {
    const kernels::GeluTables tables;
  };
  const c10::intrusive_ptr<Tables>& tables() const { return tables_; }

 private:
  c10::intrusive_ptr<Tables> tables_;
};

}  // namespace tandem::model
