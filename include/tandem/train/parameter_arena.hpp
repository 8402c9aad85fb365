// All parameters of a network in one flat fp32 array and all their gradients in another. The
// network's parameters and their .grad become views of the arrays, and both sides keep the memory
// alive. One thread at a time. Throws InternalError if a view has been replaced.
//
// Parameters that require no gradient when the arena is made are frozen. They stay outside of it.
// The others are in reverse order of registration, roughly the order in which backward completes
// their gradients, each at a 64-byte boundary. The padding stays zero.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "tandem/core/span.hpp"
#include "tandem/model/gradient_target.hpp"
#include "tandem/model/libtorch.hpp"

namespace tandem::comm {
class HostArrays;
}

namespace tandem::train {

class ParameterArena {
 public:
  struct Slot {
    std::string name;
    torch::Tensor parameter;
    std::size_t offset;  // in floats, a multiple of kAlignment
    std::size_t count;   // floats without padding
  };
  static constexpr std::size_t kAlignment = 16;  // floats: 64 bytes

  // Moves the parameters of `network` into the arena, and its buffers to the arena's device. With
  // `channels_last` filters lie as [out, height, width, in].
  ParameterArena(torch::nn::Module& network, bool channels_last,
                 torch::Device device = torch::kCPU);

  const std::vector<Slot>& slots() const { return slots_; }
  // Flat, float [size]. The spans are the same memory, for those who can reach the device's.
  const torch::Tensor& flat_values() const { return values_; }
  const torch::Tensor& flat_gradients() const { return gradients_; }
  Span<float> values() { return {values_.data_ptr<float>(), size_}; }
  Span<float> gradients() { return {gradients_.data_ptr<float>(), size_}; }
  torch::Device device() const { return values_.device(); }
  std::size_t parameter_count() const;

  // The view of a parameter in another array with the arena's layout.
  torch::Tensor view_like(const Slot& slot, const torch::Tensor& flat) const;

  // Moves the gradients to `memory`, which is as large and is kept alive. Call it before other code
  // holds views of them.
  void move_gradients(std::shared_ptr<float> memory);
  // Collective over the ranks of a host, which share one copy of the values afterwards: array 0 of
  // `arrays`, with the values of the host's first rank. Between an update and the next exchange
  // (gradient_exchange.hpp) all may read them; update them by make_shared_optimizer().
  void share_values(std::shared_ptr<comm::HostArrays> arrays);
  // Null: the values are this rank's own.
  comm::HostArrays* host_arrays() const { return host_arrays_.get(); }
  // Whether the gradients lie in memory of move_gradients().
  bool has_shared_gradients() const { return has_shared_gradients_; }

  // libtorch's own zero_grad would set the gradients to none and so detach the views.
  void zero_gradients();
  // Call it before a backward pass. On CPUs it writes nothing: the first gradient of a parameter
  // replaces the old values (gradient_target.hpp), and later ones are added. On GPUs it zeroes all.
  // Call complete_gradients() before the array is read as a whole; it writes zeros for parameters
  // without a gradient.
  void begin_gradients();
  void complete_gradients();
  // Throws where some code has replaced a parameter's data or gradient by a tensor of its own.
  void check_views() const;

 private:
  void bind_gradients();

  std::vector<Slot> slots_;
  std::size_t size_ = 0;  // floats, padding included
  torch::Tensor values_;
  torch::Tensor gradients_;
  std::vector<model::GradientTarget> targets_;  // by slot; none on GPUs
  bool has_shared_gradients_ = false;
  std::shared_ptr<comm::HostArrays> host_arrays_;
};

}  // namespace tandem::train
