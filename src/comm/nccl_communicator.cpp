#include "tandem/comm/nccl_communicator.hpp"

#include <chrono>
#include <exception>
#include <thread>
#include <utility>
#include <vector>

#include "nccl_handle.hpp"
#include "tandem/comm/agree.hpp"
#include "tandem/comm/runtime.hpp"
#include "tandem/core/clock.hpp"

namespace tandem::comm {
namespace {

// For collectives in flight. Some may wait for a lost peer.
constexpr double kSecondsToFinish = 3;
constexpr auto kBetweenQueries = std::chrono::microseconds(100);

ncclDataType_t nccl_type(DataType type) {
  switch (type) {
    case DataType::kByte:
      return ncclUint8;
    case DataType::kFloat32:
      return ncclFloat32;
    case DataType::kFloat64:
      return ncclFloat64;
    case DataType::kInt64:
      return ncclInt64;
    case DataType::kUint64:
      return ncclUint64;
    case DataType::kBfloat16:
      return ncclBfloat16;
  }
  return ncclNumTypes;
}

}  // namespace

// The collectives' own stream on the GPU, and its order with the compute stream, which is kept by
// events: a collective begins after what compute was given before it, and compute that is given
// after wait() begins after the collective.
class NcclCommunicator::Stream {
 public:
  // Throws on failure; the caller does it with all ranks together.
  Stream(std::shared_ptr<const GpuApi> api, const NcclSettings& settings)
      : api_(std::move(api)),
        device_(settings.device),
        gpu_(settings.gpu),
        compute_stream_(settings.compute_stream) {
    check(api_->cudaSetDevice(settings.device), "cudaSetDevice");
    int least = 0;
    int greatest = 0;
    check(api_->cudaDeviceGetStreamPriorityRange(&least, &greatest),
          "cudaDeviceGetStreamPriorityRange");
    // First in line: all other ranks wait for a collective. Non-blocking: else it would also wait
    // for all that the legacy stream is given.
    check(api_->cudaStreamCreateWithPriority(&stream_, cudaStreamNonBlocking, greatest),
          "cudaStreamCreateWithPriority");
    begin_ = make_event();
  }
  ~Stream() {
    disconnect();  // its work ends before the stream does
    for (const cudaEvent_t event : all_events_) api_->cudaEventDestroy(event);
    api_->cudaStreamDestroy(stream_);
  }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  void connect(Communicator& world, const NcclSettings& settings) {
    rank_ = world.rank();
    size_ = world.size();
    handle_ = std::make_unique<NcclHandle>(api_, world, settings);
  }
  int rank() const { return rank_; }
  int size() const { return size_; }
  NcclHandle& handle() { return *handle_; }

  // Gives the stream what `issue(comm, stream)` starts, and an event that happens after it.
  template <typename Issue>
  cudaEvent_t start(const char* call, const Issue& issue) {
    // Backward runs on a thread of autograd's.
    check(api_->cudaSetDevice(device_), "cudaSetDevice");
    check(api_->cudaEventRecord(begin_, compute()), "cudaEventRecord");
    check(api_->cudaStreamWaitEvent(stream_, begin_, 0), "cudaStreamWaitEvent");
    handle_->call(call, [&](ncclComm_t comm) { return issue(*api_, comm, stream_); });
    cudaEvent_t done = nullptr;
    if (free_events_.empty()) {
      done = make_event();
    } else {
      done = free_events_.back();
      free_events_.pop_back();
    }
    check(api_->cudaEventRecord(done, stream_), "cudaEventRecord");
    return done;
  }
  cudaEvent_t iall_reduce(Buffer values);
  cudaError_t let_compute_wait(cudaEvent_t done) {
    return api_->cudaStreamWaitEvent(compute(), done, 0);
  }
  bool has_happened(cudaEvent_t event) {
    const cudaError_t found = api_->cudaEventQuery(event);
    if (found == cudaErrorNotReady) {
      api_->cudaGetLastError();  // else libtorch finds it after its next kernel, and throws
      return false;
    }
    check(found, "cudaEventQuery");
    return true;
  }
  void clear_error() noexcept { api_->cudaGetLastError(); }
  void give_back(cudaEvent_t event) noexcept { free_events_.push_back(event); }
  void check(cudaError_t result, const char* call) const {
    if (result == cudaSuccess) return;
    throw UnavailableError(gpu_ + ": " + describe_failure(*api_, result, call));
  }

 private:
  cudaStream_t compute() const {
    return compute_stream_ ? static_cast<cudaStream_t>(compute_stream_()) : nullptr;
  }
  // The peers do not know of an exception. Disconnecting then would show them a lost peer, and they
  // would report that consequence first.
  void disconnect() noexcept {
    if (handle_ == nullptr || std::uncaught_exceptions() > 0) return;
    const auto begin = std::chrono::steady_clock::now();
    const bool is_idle = !handle_->has_failed() && becomes_idle(begin);
    handle_->end(is_idle ? NcclHandle::End::kDisconnect : NcclHandle::End::kAbort,
                 NcclHandle::kSecondsToEnd - seconds_since(begin));
  }
  // Whether all collectives finish. NCCL would wait for them without a limit.
  bool becomes_idle(std::chrono::steady_clock::time_point begin) noexcept {
    if (api_->cudaSetDevice(device_) != cudaSuccess) return false;
    // Recorded collectives ran on the compute stream.
    if (api_->cudaEventRecord(begin_, compute()) != cudaSuccess ||
        api_->cudaStreamWaitEvent(stream_, begin_, 0) != cudaSuccess ||
        api_->cudaEventRecord(begin_, stream_) != cudaSuccess) {
      return false;
    }
    cudaError_t found = api_->cudaEventQuery(begin_);
    while (found == cudaErrorNotReady && seconds_since(begin) < kSecondsToFinish) {
      std::this_thread::sleep_for(kBetweenQueries);
      found = api_->cudaEventQuery(begin_);
    }
    api_->cudaGetLastError();
    return found == cudaSuccess;
  }
  cudaEvent_t make_event() {
    all_events_.reserve(all_events_.size() + 1);
    free_events_.reserve(all_events_.capacity());  // so that giving back cannot fail
    cudaEvent_t event = nullptr;
    check(api_->cudaEventCreateWithFlags(&event, cudaEventDisableTiming),
          "cudaEventCreateWithFlags");
    all_events_.push_back(event);
    return event;
  }

  const std::shared_ptr<const GpuApi> api_;
  const int device_;
  const std::string gpu_;
  const std::function<void*()> compute_stream_;
  cudaStream_t stream_ = nullptr;
  cudaEvent_t begin_ = nullptr;
  std::vector<cudaEvent_t> all_events_;
  std::vector<cudaEvent_t> free_events_;
  int rank_ = 0;
  int size_ = 1;
  std::unique_ptr<NcclHandle> handle_;
};

class NcclCommunicator::InFlight final : public Request {
 public:
  InFlight(Stream& stream, cudaEvent_t done) : stream_(stream), done_(done) {}
  ~InFlight() override {
    // The next checked call reports a failure of this one. libtorch must not find it.
    if (!waited_ && stream_.let_compute_wait(done_) != cudaSuccess) stream_.clear_error();
    stream_.give_back(done_);
  }
  void wait() override {
    stream_.handle().check();
    stream_.check(stream_.let_compute_wait(done_), "cudaStreamWaitEvent");
    waited_ = true;
  }
  bool test() override {
    stream_.handle().check();
    return stream_.has_happened(done_);
  }

 private:
  Stream& stream_;
  const cudaEvent_t done_;
  bool waited_ = false;
};

NcclCommunicator::NcclCommunicator(std::shared_ptr<const GpuApi> api, Communicator& world,
                                   const NcclSettings& settings) {
  agree(world, [&] { stream_ = std::make_unique<Stream>(std::move(api), settings); });
  stream_->connect(world, settings);
}

NcclCommunicator::~NcclCommunicator() = default;

int NcclCommunicator::rank() const { return stream_->rank(); }
int NcclCommunicator::size() const { return stream_->size(); }
void NcclCommunicator::check() { stream_->handle().check(); }

cudaEvent_t NcclCommunicator::Stream::iall_reduce(Buffer values) {
  return start("ncclAllReduce", [&](const GpuApi& api, ncclComm_t comm, cudaStream_t stream) {
    return api.ncclAllReduce(values.data, values.data, values.size, nccl_type(values.type), ncclSum,
                             comm, stream);
  });
}

void NcclCommunicator::do_all_reduce(Buffer values) {
  InFlight(*stream_, stream_->iall_reduce(values)).wait();
}

std::unique_ptr<Request> NcclCommunicator::do_iall_reduce(Buffer values) {
  return std::make_unique<InFlight>(*stream_, stream_->iall_reduce(values));
}

std::unique_ptr<Collectives> make_nccl(Communicator& world, const NcclSettings& settings) {
  std::shared_ptr<const GpuApi> api;
  agree(world, [&] { api = load_gpu_api(); });
  return std::make_unique<NcclCommunicator>(std::move(api), world, settings);
}

}  // namespace tandem::comm
