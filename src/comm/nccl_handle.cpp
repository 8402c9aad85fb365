#include "nccl_handle.hpp"

#include <chrono>
#include <cstdlib>
#include <future>
#include <thread>

#include "nccl_report.hpp"
#include "tandem/comm/agree.hpp"
#include "tandem/comm/runtime.hpp"
#include "tandem/core/text.hpp"

namespace tandem::comm {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

constexpr auto kBetweenLooks = 100us;
// NCCL gives a collective to the GPU within microseconds, and backward goes on only afterwards.
constexpr int kQuickLooks = 2000;
// How often the connecting ranks exchange their states.
constexpr auto kRound = 50ms;
// Limits for finalizing a healthy communicator, and for waiting for its end.
constexpr auto kTimeToFinalize = 3s;
constexpr auto kTimeToEnd = 5s;

// Ordered: the highest of all ranks decides.
enum ConnectState : std::int64_t { kConnected, kConnecting, kExpired, kFailed };

Clock::time_point after(double seconds) {
  return Clock::now() +
         std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
}

bool is_running(ncclResult_t state) { return state == ncclSuccess || state == ncclInProgress; }

ncclResult_t state_of(const GpuApi& api, ncclComm_t comm) {
  ncclResult_t state = ncclSuccess;
  const ncclResult_t asked = api.ncclCommGetAsyncError(comm, &state);
  return asked == ncclSuccess ? state : asked;
}

// Polls until the communicator is not busy any more, or until the deadline.
ncclResult_t poll_until(const GpuApi& api, ncclComm_t comm, Clock::time_point deadline) {
  ncclResult_t state = state_of(api, comm);
  for (int look = 0; state == ncclInProgress && Clock::now() < deadline; ++look) {
    if (look < kQuickLooks) {
      std::this_thread::yield();
    } else {
      std::this_thread::sleep_for(kBetweenLooks);
    }
    state = state_of(api, comm);
  }
  return state;
}

}  // namespace

NcclHandle::NcclHandle(std::shared_ptr<const GpuApi> api, Communicator& world,
                       const NcclSettings& settings)
    : api_(std::move(api)), settings_(settings) {
  // NCCL would connect what an algorithm needs when a collective first takes it: in the midst of a
  // step, without a deadline, and without a word of who is out of reach.
  ::setenv("NCCL_RUNTIME_CONNECT", "0", /*overwrite=*/0);
  ncclUniqueId id{};
  agree_on_rank_0(world, [&] {
    check_nccl<UnavailableError>(*api_, nullptr, api_->ncclGetUniqueId(&id), "ncclGetUniqueId");
  });
  world.broadcast(Span<std::uint8_t>(reinterpret_cast<std::uint8_t*>(id.internal), sizeof id));

  const Clock::time_point deadline = after(settings_.init_timeout);
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  config.blocking = 0;  // else a peer that does not come holds this rank for good
  ncclResult_t state =
      api_->ncclCommInitRankConfig(&comm_, world.size(), id, world.rank(), &config);
  // The ranks look in rounds and agree after each, so that the failure of one ends the waiting of
  // all.
  std::int64_t all = kConnecting;
  std::int64_t mine = kConnecting;
  while (all == kConnecting) {
    if (is_running(state)) {
      state = poll_until(*api_, comm_, std::min(deadline, Clock::now() + kRound));
    }
    mine = state == ncclSuccess       ? kConnected
           : state != ncclInProgress  ? kFailed
           : Clock::now() >= deadline ? kExpired
                                      : kConnecting;
    all = world.all_reduce_value<std::int64_t>(mine, Reduction::kMax);
  }
  if (all == kConnected) return;

  // Before the end of the communicator, which may take NCCL's words with it.
  const std::string failure =
      mine == kFailed ? describe_failure(*api_, comm_, state, "ncclCommInitRankConfig") : "";
  end(false);
  agree(world, host_name(), [&] {
    if (mine == kFailed) throw UnavailableError(failure);
  });
  report_timeout(world, mine == kConnected);
}

void NcclHandle::report_timeout(Communicator& world, bool connected) const {
  const std::vector<std::string> texts =
      world.gather_strings((connected ? "1" : "0") + host_name() + ", " + settings_.gpu + ", " +
                           interface_addresses() + ", " + nccl_settings());
  agree_on_rank_0(world, [&] {
    std::vector<ConnectReport> ranks;
    ranks.reserve(texts.size());
    for (const std::string& text : texts) ranks.push_back({text[0] == '1', text.substr(1)});
    throw UnavailableError(describe_connect_timeout(settings_.init_timeout, ranks));
  });
}

NcclHandle::~NcclHandle() {
  // The peers do not know of the exception. Disconnecting here would show them a lost peer, and
  // they would report that consequence first.
  if (std::uncaught_exceptions() > 0) return;
  end(!failed_);
}

void NcclHandle::finish_call(ncclResult_t code, const char* call) {
  if (code == ncclInProgress) {
    code = poll_until(*api_, comm_, after(settings_.init_timeout));
    if (code == ncclInProgress) {
      failed_ = true;
      throw InternalError(std::string(call) + " has not connected its peers for " +
                          format_real(settings_.init_timeout) +
                          " s (--init-timeout); NCCL_DEBUG=INFO says where it waits");
    }
  }
  if (code != ncclSuccess) failed_ = true;
  check_nccl(*api_, comm_, code, call);
}

void NcclHandle::check() {
  const std::unique_lock<std::mutex> lock(mutex_, std::try_to_lock);
  if (!lock.owns_lock()) return;
  const ncclResult_t state = state_of(*api_, comm_);
  if (is_running(state)) return;
  failed_ = true;
  check_nccl(*api_, comm_, state, "an NCCL collective");
}

// Either way of ending may wait for peers that are gone, so a thread does it, which is left behind
// where it does.
void NcclHandle::end(bool healthy) noexcept {
  if (comm_ == nullptr) return;
  const auto done = std::make_shared<std::promise<void>>();
  std::future<void> is_done = done->get_future();
  std::thread([api = api_, comm = comm_, device = settings_.device, healthy, done] {
    api->cudaSetDevice(device);
    if (healthy && is_running(api->ncclCommFinalize(comm)) &&
        poll_until(*api, comm, Clock::now() + kTimeToFinalize) == ncclSuccess) {
      api->ncclCommDestroy(comm);
    } else {
      api->ncclCommAbort(comm);
    }
    done->set_value();
  }).detach();
  is_done.wait_for(kTimeToEnd);
  comm_ = nullptr;
}

}  // namespace tandem::comm
