// Gives memory of a DataType its static type, for Collectives that wrap others. Throws
// InternalError for an unknown type.
#pragma once

#include <cstdint>

#include "tandem/comm/collectives.hpp"
#include "tandem/core/error.hpp"

namespace tandem::comm {

// Calls `work` with a Span of the values.
template <typename Work>
auto with_values(void* data, std::size_t count, DataType type, const Work& work) {
  switch (type) {
    case DataType::kByte:
      return work(Span<std::uint8_t>(static_cast<std::uint8_t*>(data), count));
    case DataType::kFloat32:
      return work(Span<float>(static_cast<float*>(data), count));
    case DataType::kFloat64:
      return work(Span<double>(static_cast<double*>(data), count));
    case DataType::kInt64:
      return work(Span<std::int64_t>(static_cast<std::int64_t*>(data), count));
    case DataType::kUint64:
      return work(Span<std::uint64_t>(static_cast<std::uint64_t*>(data), count));
    case DataType::kBfloat16:
      return work(Span<Bfloat16>(static_cast<Bfloat16*>(data), count));
  }
  throw InternalError("values of no known type were to be exchanged");
}

}  // namespace tandem::comm
