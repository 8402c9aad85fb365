// torch::gelu, but fast for bfloat16 on CPUs, by tables that autograd keeps alive. Throws
// c10::Error if a tensor has the wrong shape.
#pragma once

#include "tandem/kernels/elementwise.hpp"
#include "tandem/model/libtorch.hpp"

namespace tandem::model {

class Gelu {
 public:
  Gelu();
  // Any shape; dense tensors keep their memory format.
  torch::Tensor operator()(const torch::Tensor& x) const;

  struct Tables : public torch::CustomClassHolder {
    const kernels::GeluTables tables;
  };
  const c10::intrusive_ptr<Tables>& tables() const { return tables_; }

 private:
  c10::intrusive_ptr<Tables> tables_;
};

}  // namespace tandem::model
