#include "tandem/model/step_graph.hpp"

#include <c10/core/impl/VirtualGuardImpl.h>

#include <exception>

namespace tandem::model {

SideStream::SideStream(torch::Device gpu)
    : before_(c10::impl::VirtualGuardImpl(gpu.type()).getStream(gpu)) {
  before_.synchronize();  // the new one does not wait for it
  const c10::impl::VirtualGuardImpl guard(gpu.type());
  guard.exchangeStream(guard.getStreamFromGlobalPool(gpu));
}

SideStream::~SideStream() {
  const c10::impl::VirtualGuardImpl guard(before_.device_type());
  try {
    // During an error a collective may wait for a peer that is gone.
    if (std::uncaught_exceptions() == 0) guard.getStream(before_.device()).synchronize();
    guard.exchangeStream(before_);
  } catch (const std::exception&) {
    // The GPU is lost, and what lost it has been reported.
  }
}

}  // namespace tandem::model
