// What: one outcome for all ranks: a step that fails on any rank fails on every rank, with one
// message. Owns: nothing. Threads: the communicator's. Throws: AgreedError on every rank.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "tandem/comm/communicator.hpp"
#include "tandem/core/error.hpp"

namespace tandem::comm {

// An error that every rank throws together: rank 0 reports it, nobody has to be aborted.
class AgreedError : public Error {
 public:
  using Error::Error;
};

// Collective. Runs `step` here; where it throws on some rank, every rank throws the error of the
// lowest such rank. Its message names that rank and its host, unless all ranks failed alike.
void agree(Communicator& comm, const std::string& host, const std::function<void()>& step);

// Collective. Runs `step` on rank 0 alone; its failure is every rank's.
void agree_on_rank_0(Communicator& comm, const std::function<void()>& step);

// Collective. Every rank brings the same (name, value) fields in the same order; where a value
// differs from rank 0's, every rank throws DisagreementError's code (78) with each such field, the
// ranks and both values.
using Fields = std::vector<std::pair<std::string, std::string>>;
void require_equal(Communicator& comm, const Fields& fields);

}  // namespace tandem::comm
