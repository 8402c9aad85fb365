// Coordinated errors: if a step fails on any rank, every rank throws the same AgreedError. Call
// these functions on the communicator's thread.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "tandem/comm/communicator.hpp"
#include "tandem/core/error.hpp"

namespace tandem::comm {

// An error that every rank throws together. Rank 0 reports it, and no rank needs to be aborted.
class AgreedError : public Error {
 public:
  using Error::Error;
};

// Collective. Runs `step` on every rank. If it throws on some ranks, every rank throws the error of
// the lowest of them. The message names that rank and its host, unless all ranks failed alike.
void agree(Communicator& comm, const std::function<void()>& step);

// Collective. Runs `step` on rank 0; if it throws, every rank throws.
void agree_on_rank_0(Communicator& comm, const std::function<void()>& step);

// Collective. Whether `here` is true on every rank.
bool is_true_everywhere(Communicator& comm, bool here);

// Collective. Compares (name, value) fields, which every rank passes in the same order. If a value
// differs from rank 0's, every rank throws the code of DisagreementError (78) with each such field,
// the ranks and both values.
using Fields = std::vector<std::pair<std::string, std::string>>;
void require_equal(Communicator& comm, const Fields& fields);

}  // namespace tandem::comm
