#include "tandem/comm/agree.hpp"

#include <map>
#include <optional>

#include "tandem/comm/runtime.hpp"
#include "tandem/core/digest.hpp"
#include "tandem/core/listing.hpp"
#include "tandem/core/text.hpp"

namespace tandem::comm {
namespace {

// The error of a failed step on its rank.
struct Failure {
  ExitCode code;
  std::string message;
};

std::optional<Failure> run(const std::function<void()>& step) {
  try {
    step();
    return std::nullopt;
  } catch (const std::exception& error) {
    return Failure{code_of(error), message_of(error)};
  }
}

// Every rank throws the failure of rank `from`.
[[noreturn]] void throw_together(Communicator& comm, const std::optional<Failure>& mine, int from) {
  auto code = static_cast<std::int64_t>(mine ? mine->code : ExitCode::kInternal);
  comm.broadcast(Span<std::int64_t>(&code, 1), from);
  throw AgreedError(static_cast<ExitCode>(code),
                    comm.broadcast_string(mine ? mine->message : "", from));
}

std::string describe_value(const std::string& value) {
  return value.empty() ? "none" : "'" + value + "'";
}

std::string describe_differences(const Fields& expected, const std::vector<std::string>& found) {
  std::vector<std::string> lines;
  for (std::size_t field = 0; field < expected.size(); ++field) {
    std::map<std::string, std::vector<int>> ranks_by_value;
    for (std::size_t rank = 0; rank < found.size(); ++rank) {
      const std::vector<std::string> values = split(found[rank], '\0');
      const std::string value = field < values.size() ? values[field] : "nothing";
      if (value != expected[field].second) {
        ranks_by_value[value].push_back(static_cast<int>(rank));
      }
    }
    for (const auto& [value, ranks] : ranks_by_value) {
      lines.push_back(expected[field].first + ": " + name_ranks(ranks) +
                      (ranks.size() == 1 ? " has " : " have ") + describe_value(value) +
                      ", rank 0 has " + describe_value(expected[field].second));
    }
  }
  return "the ranks do not agree; start every rank with the same program, options and data\n  " +
         join(lines, "\n  ");
}

}  // namespace

void agree(Communicator& comm, const std::function<void()>& step) {
  std::optional<Failure> mine = run(step);
  const auto size = static_cast<std::int64_t>(comm.size());
  const auto failed = comm.all_reduce_value<std::int64_t>(mine ? 1 : 0);
  if (failed == 0) return;
  const auto first =
      comm.all_reduce_value<std::int64_t>(mine ? comm.rank() : size, Reduction::kMin);
  if (mine && failed < size) {
    mine->message =
        "rank " + std::to_string(comm.rank()) + " (" + host_name() + "): " + mine->message;
  }
  throw_together(comm, mine, static_cast<int>(first));
}

void agree_on_rank_0(Communicator& comm, const std::function<void()>& step) {
  std::optional<Failure> mine;
  if (comm.rank() == 0) mine = run(step);
  if (is_true_everywhere(comm, !mine)) return;
  throw_together(comm, mine, 0);
}

bool is_true_everywhere(Communicator& comm, bool here) {
  return comm.all_reduce_value<std::int64_t>(here ? 1 : 0, Reduction::kMin) == 1;
}

void require_equal(Communicator& comm, const Fields& fields) {
  std::string values;
  for (const auto& [name, value] : fields) values += value + '\0';
  const std::uint64_t mine = hash64(values.data(), values.size());
  std::uint64_t first = mine;
  comm.broadcast(Span<std::uint64_t>(&first, 1));
  if (is_true_everywhere(comm, mine == first)) return;
  const std::vector<std::string> found = comm.gather_strings(values);
  agree_on_rank_0(comm, [&] { throw DisagreementError(describe_differences(fields, found)); });
}

}  // namespace tandem::comm
