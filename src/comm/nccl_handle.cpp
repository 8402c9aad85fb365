#include "nccl_handle.hpp"

#include <chrono>
#include <condition_variable>
#include <exception>
#include <future>
#include <mutex>
#include <thread>

#include "nccl_report.hpp"
#include "tandem/comm/agree.hpp"
#include "tandem/comm/gpu_libraries.hpp"
#include "tandem/comm/runtime.hpp"
#include "tandem/core/text.hpp"

namespace tandem::comm {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

// How often the connecting ranks exchange their states.
constexpr auto kRound = 50ms;

// Ordered: the highest of all ranks decides.
enum ConnectState : std::int64_t { kConnected, kConnecting, kExpired, kFailed };

Clock::duration to_duration(double seconds) {
  return std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
}

// Collective. NCCL refuses peers of another version as an invalid usage, without saying whose.
void require_one_version(const GpuApi& api, Communicator& world) {
  int number = 0;
  agree(world, [&] {
    check_nccl<UnavailableError>(api, nullptr, api.ncclGetVersion(&number), "ncclGetVersion");
  });
  const std::vector<std::string> versions = world.gather_strings(nccl_version_text(number));
  const std::vector<std::string> hosts = world.gather_strings(host_name());
  agree_on_rank_0(world, [&] {
    const std::string message = describe_versions(versions, hosts);
    if (!message.empty()) throw DisagreementError(message);
  });
}

}  // namespace

// A connection under way, shared by the thread that makes it and the handle that waits for it. A
// blocking call cannot be ended, so where the limit is over, the thread is left behind with it.
struct NcclHandle::Attempt {
  std::mutex mutex;
  std::condition_variable changed;
  bool abandoned = false;
  ncclComm_t comm = nullptr;
  ncclResult_t result = ncclInProgress;

  ncclResult_t wait_until(Clock::time_point time) {
    std::unique_lock<std::mutex> lock(mutex);
    changed.wait_until(lock, time, [this] { return result != ncclInProgress; });
    return result;
  }
  // Returns false if the attempt was abandoned.
  bool finish(ncclComm_t made, ncclResult_t how) {
    const std::lock_guard<std::mutex> lock(mutex);
    comm = made;
    result = how;
    changed.notify_all();
    return !abandoned;
  }
  // Returns what has been made by now, which the caller then has to end.
  ncclComm_t abandon() {
    const std::lock_guard<std::mutex> lock(mutex);
    abandoned = true;
    return result == ncclSuccess ? comm : nullptr;
  }
};

NcclHandle::NcclHandle(std::shared_ptr<const GpuApi> api, Communicator& world,
                       const NcclSettings& settings)
    : api_(std::move(api)), settings_(settings) {
  set_nccl_defaults();
  require_one_version(*api_, world);
  ncclUniqueId id{};
  agree_on_rank_0(world, [&] {
    check_nccl<UnavailableError>(*api_, nullptr, api_->ncclGetUniqueId(&id), "ncclGetUniqueId");
  });
  world.broadcast(Span<std::uint8_t>(reinterpret_cast<std::uint8_t*>(id.internal), sizeof id));

  const Clock::time_point deadline = Clock::now() + to_duration(settings_.init_timeout);
  const auto attempt = std::make_shared<Attempt>();
  agree(world, [&] {
    // Copies of everything, because the thread may outlive this object.
    std::thread([api = api_, attempt, id, device = settings_.device, size = world.size(),
                 rank = world.rank()] {
      ncclComm_t comm = nullptr;
      ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
      config.blocking = 1;
      api->cudaSetDevice(device);
      const ncclResult_t result = api->ncclCommInitRankConfig(&comm, size, id, rank, &config);
      if (!attempt->finish(comm, result) && result == ncclSuccess) api->ncclCommAbort(comm);
    }).detach();
  });
  // The ranks look in rounds and agree after each, so that the failure of one ends the waiting of
  // all.
  std::int64_t all = kConnecting;
  std::int64_t mine = kConnecting;
  ncclResult_t result = ncclInProgress;
  while (all == kConnecting) {
    result = attempt->wait_until(std::min(deadline, Clock::now() + kRound));
    mine = result == ncclSuccess      ? kConnected
           : result != ncclInProgress ? kFailed
           : Clock::now() >= deadline ? kExpired
                                      : kConnecting;
    all = world.all_reduce_value<std::int64_t>(mine, Reduction::kMax);
  }
  if (all == kConnected) {
    comm_ = attempt->comm;
    return;
  }
  const std::string failure =
      mine == kFailed ? describe_failure(*api_, nullptr, result, "ncclCommInitRankConfig") : "";
  comm_ = attempt->abandon();
  end(End::kAbort, kSecondsToEnd);
  agree(world, [&] {
    if (mine == kFailed) throw UnavailableError(failure + small_shared_memory());
  });
  report_timeout(world, mine == kConnected);
}

void NcclHandle::report_timeout(Communicator& world, bool connected) const {
  const std::vector<std::string> texts =
      world.gather_strings((connected ? "1" : "0") + host_name() + ", " + settings_.gpu + ", " +
                           interface_addresses() + ", " + nccl_settings() + small_shared_memory());
  agree_on_rank_0(world, [&] {
    std::vector<ConnectReport> ranks;
    ranks.reserve(texts.size());
    for (const std::string& text : texts) ranks.push_back({text[0] == '1', text.substr(1)});
    throw UnavailableError(describe_connect_timeout(settings_.init_timeout, ranks));
  });
}

void NcclHandle::report(ncclResult_t result, const char* call) {
  if (result == ncclSuccess) return;
  failed_ = true;
  throw UnavailableError(settings_.gpu + ": " + describe_failure(*api_, comm_, result, call));
}

void NcclHandle::check() {
  ncclResult_t state = ncclSuccess;
  const ncclResult_t asked = api_->ncclCommGetAsyncError(comm_, &state);
  report(asked == ncclSuccess ? state : asked, "an NCCL collective");
}

// Ending may wait for peers that are gone. A thread does it, and is left behind if it waits.
void NcclHandle::end(End how, double seconds) noexcept {
  if (comm_ == nullptr) return;
  try {
    const auto done = std::make_shared<std::promise<void>>();
    std::future<void> is_done = done->get_future();
    std::thread([api = api_, comm = comm_, device = settings_.device, how, done] {
      api->cudaSetDevice(device);
      how == End::kDisconnect ? api->ncclCommDestroy(comm) : api->ncclCommAbort(comm);
      done->set_value();
    }).detach();
    is_done.wait_for(to_duration(seconds));
  } catch (const std::exception&) {
    // No thread can be started, or there is no memory for it. The connection stays until this
    // process ends, and peers that wait for its end stop waiting at their own limit.
  }
  comm_ = nullptr;
}

}  // namespace tandem::comm
