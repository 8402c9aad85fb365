#include "support/nccl_stand_in.hpp"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <functional>
#include <future>
#include <mutex>
#include <thread>
#include <utility>

#include "support/bfloat16.hpp"

namespace {

constexpr auto kBetweenLooks = std::chrono::microseconds(100);

template <typename T>
void add_up(const std::vector<char>& all, int ranks, void* out, std::size_t count) {
  std::vector<T> values(count * static_cast<std::size_t>(ranks));
  std::copy(all.begin(), all.end(), reinterpret_cast<char*>(values.data()));
  for (std::size_t i = 0; i < count; ++i) {
    T result = values[i];
    for (std::size_t at = i + count; at < values.size(); at += count) {
      result = result + values[at];
    }
    static_cast<T*>(out)[i] = result;
  }
}

std::size_t bytes_of(ncclDataType_t type) {
  return type == ncclUint8 ? 1 : type == ncclBfloat16 ? 2 : type == ncclFloat32 ? 4 : 8;
}

}  // namespace

// The types that the libraries' headers only declare.
struct CUevent_st {
  std::uint64_t recorded = 0;  // how often, and how often that has happened
  std::shared_ptr<std::atomic<std::uint64_t>> happened =
      std::make_shared<std::atomic<std::uint64_t>>(0);
};

struct CUstream_st {
  std::mutex mutex;
  std::condition_variable changed;
  std::deque<std::function<void()>> work;  // an empty one ends the thread
  std::atomic<bool> destroyed{false};
  std::thread thread{[this] { run(); }};

  void push(std::function<void()> what) {
    const std::lock_guard<std::mutex> lock(mutex);
    work.push_back(std::move(what));
    changed.notify_one();
  }
  void run() {
    for (;;) {
      std::unique_lock<std::mutex> lock(mutex);
      changed.wait(lock, [this] { return !work.empty(); });
      const std::function<void()> next = std::move(work.front());
      work.pop_front();
      lock.unlock();
      if (!next) return;
      next();
    }
  }
  void synchronize() {
    std::promise<void> done;
    push([&done] { done.set_value(); });
    done.get_future().wait();
  }
  ~CUstream_st() {
    push({});
    thread.join();
  }
};

struct ncclComm {
  int tag = 0;  // of the next messages; communicators keep apart by it
  int size = 1;
  std::atomic<ncclResult_t> result{ncclSuccess};
  std::atomic<bool> aborted{false};
  std::atomic<int> unfinished{0};
};

namespace tandem::testing {

struct NcclStandIn::State {
  MPI_Comm mpi = MPI_COMM_NULL;
  int rank = 0;
  const NcclFaults* faults = nullptr;
  std::atomic<bool> closing{false};
  std::atomic<ncclResult_t> asynchronous_error{ncclSuccess};
  std::atomic<bool> late_ranks_connect{false};
  std::atomic<int> connecting{0};  // threads
  std::atomic<int> living{0};
  std::vector<std::unique_ptr<CUstream_st>> streams;  // the first is the legacy stream
  std::vector<std::unique_ptr<ncclComm>> comms;       // kept after their end

  // CUDA crashes where a stream is used after its end.
  CUstream_st& at(cudaStream_t stream) {
    if (stream == nullptr) return *streams.front();
    if (stream->destroyed) throw InternalError("a stream is used that was destroyed");
    return *stream;
  }
};

namespace {

NcclStandIn::State* current = nullptr;
thread_local int device_of_thread = -1;  // that a thread chose one, as each that calls CUDA must
thread_local cudaError_t last_error = cudaSuccess;  // until cudaGetLastError reads it

template <typename Code>
Code returned(const char* function) {
  const auto found = current->faults->returns.find(function);
  return static_cast<Code>(found == current->faults->returns.end() ? 0 : found->second);
}

// Until it is done, or whoever waits gives up: then false.
template <typename Done>
bool wait(const ncclComm& comm, const Done& done) {
  while (!done()) {
    if (comm.aborted || current->closing) return false;
    std::this_thread::sleep_for(kBetweenLooks);
  }
  return true;
}

void hang(const ncclComm& comm) {
  wait(comm, [] { return false; });
}

// Every rank's bytes in rank order; false where the communicator ends before all are here.
bool exchange(const ncclComm& comm, int tag, const void* mine, std::size_t bytes,
              std::vector<char>& all) {
  all.resize(bytes * static_cast<std::size_t>(comm.size));
  std::vector<MPI_Request> requests(2 * static_cast<std::size_t>(comm.size), MPI_REQUEST_NULL);
  for (int rank = 0; rank < comm.size; ++rank) {
    const auto number = static_cast<std::size_t>(rank);
    const int count = static_cast<int>(bytes);
    MPI_Irecv(all.data() + bytes * number, count, MPI_BYTE, rank, tag, current->mpi,
              &requests[number]);
    MPI_Isend(mine, count, MPI_BYTE, rank, tag, current->mpi,
              &requests[number + static_cast<std::size_t>(comm.size)]);
  }
  const bool done = wait(comm, [&requests] {
    int all_done = 0;
    MPI_Testall(static_cast<int>(requests.size()), requests.data(), &all_done, MPI_STATUSES_IGNORE);
    return all_done != 0;
  });
  for (std::size_t i = 0; i < requests.size() / 2; ++i) {  // what was sent stays unread
    if (requests[i] == MPI_REQUEST_NULL) continue;
    MPI_Cancel(&requests[i]);
    MPI_Wait(&requests[i], MPI_STATUS_IGNORE);
  }
  return done;
}

// Puts a collective into the stream: its bytes from every rank, then `use` of them.
ncclResult_t enqueue(const char* name, ncclComm_t comm, cudaStream_t stream, const void* data,
                     std::size_t bytes, std::function<void(const std::vector<char>&)> use) {
  if (const auto code = returned<ncclResult_t>(name)) return code;
  if (device_of_thread < 0) return ncclInvalidUsage;
  const auto work = [=, tag = comm->tag++, faults = *current->faults] {
    std::vector<char> all;
    const bool is_culprit = current->rank == faults.hangs_in_collective;
    if (faults.lost && !is_culprit) comm->result = ncclRemoteError;
    if (faults.lost || is_culprit) {
      hang(*comm);
    } else if (exchange(*comm, tag, data, bytes, all)) {
      use(all);
    }
    --comm->unfinished;
  };
  ++comm->unfinished;
  current->at(stream).push(work);
  return ncclSuccess;
}

ncclResult_t all_reduce(const void* in, void* out, std::size_t count, ncclDataType_t type,
                        ncclRedOp_t op, ncclComm_t comm, cudaStream_t stream) {
  if (op != ncclSum) return ncclInvalidArgument;
  return enqueue("ncclAllReduce", comm, stream, in, count * bytes_of(type),
                 [=, ranks = comm->size](const std::vector<char>& all) {
                   if (type == ncclBfloat16) add_up<comm::Bfloat16>(all, ranks, out, count);
                   if (type == ncclFloat32) add_up<float>(all, ranks, out, count);
                   if (type == ncclFloat64) add_up<double>(all, ranks, out, count);
                   if (type == ncclInt64) add_up<std::int64_t>(all, ranks, out, count);
                   if (type == ncclUint64) add_up<std::uint64_t>(all, ranks, out, count);
                 });
}

ncclResult_t connect(ncclComm& comm, ncclUniqueId id) {
  if (current->rank == current->faults->hangs_in_init &&
      !wait(comm, [] { return current->late_ranks_connect.load(); })) {
    return ncclInternalError;
  }
  std::vector<char> ids;
  if (!exchange(comm, comm.tag++, id.internal, sizeof id.internal, ids)) return ncclInternalError;
  // All must have the id that one of them made.
  const bool equal = std::count(ids.begin(), ids.end(), 'i') == std::ptrdiff_t(ids.size());
  return equal ? ncclSuccess : ncclInvalidArgument;
}

// Returns once all ranks are connected.
ncclResult_t init_rank(ncclComm_t* handle, int size, ncclUniqueId id, int, ncclConfig_t* config) {
  if (const auto code = returned<ncclResult_t>("ncclCommInitRankConfig")) return code;
  if (config->blocking != 1) return ncclInvalidArgument;  // a thread for each collective
  if (device_of_thread < 0) return ncclInvalidUsage;
  constexpr int kTagsEach = 1000;
  ++current->connecting;
  ++current->living;
  current->comms.push_back(std::make_unique<ncclComm>());
  ncclComm* comm = *handle = current->comms.back().get();
  comm->tag = kTagsEach * static_cast<int>(current->comms.size());
  comm->size = size;
  const ncclResult_t result = connect(*comm, id);
  if (result != ncclSuccess) --current->living;
  --current->connecting;
  return result;
}

ncclResult_t get_async_error(ncclComm_t comm, ncclResult_t* found) {
  const ncclResult_t reported = current->asynchronous_error;
  *found = reported != ncclSuccess ? reported : comm->result.load();
  return ncclSuccess;
}

ncclResult_t abort(ncclComm_t handle) {
  if (current->faults->abort_hangs) hang(*handle);
  handle->aborted = true;
  while (handle->unfinished > 0) std::this_thread::sleep_for(kBetweenLooks);
  --current->living;
  return ncclSuccess;
}

ncclResult_t destroy(ncclComm_t handle) {
  wait(*handle, [handle] { return handle->unfinished == 0; });
  --current->living;
  return ncclSuccess;
}

cudaError_t stream_create(cudaStream_t* stream, unsigned int, int) {
  current->streams.push_back(std::make_unique<CUstream_st>());
  ++current->living;
  *stream = current->streams.back().get();
  return returned<cudaError_t>("cudaStreamCreateWithPriority");
}

cudaError_t event_record(cudaEvent_t event, cudaStream_t stream) {
  current->at(stream).push(
      [happened = event->happened, number = ++event->recorded] { *happened = number; });
  return returned<cudaError_t>("cudaEventRecord");
}

cudaError_t stream_wait_event(cudaStream_t stream, cudaEvent_t event, unsigned int) {
  current->at(stream).push([happened = event->happened, number = event->recorded] {
    while (*happened < number && !current->closing) std::this_thread::sleep_for(kBetweenLooks);
  });
  return returned<cudaError_t>("cudaStreamWaitEvent");
}

cudaError_t copy(void* to, const void* from, std::size_t bytes, cudaMemcpyKind,
                 cudaStream_t stream) {
  current->at(stream).push(
      [=] { std::copy_n(static_cast<const char*>(from), bytes, static_cast<char*>(to)); });
  return cudaSuccess;
}

comm::GpuApi make_api() {
  comm::GpuApi api;
  api.cudaGetErrorString = [](cudaError_t) { return "an error of the stand-in"; };
  api.cudaSetDevice = [](int device) {
    device_of_thread = device;
    return returned<cudaError_t>("cudaSetDevice");
  };
  api.cudaDeviceGetStreamPriorityRange = [](int* least, int* greatest) {
    return *least = 0, *greatest = -5, cudaSuccess;
  };
  api.cudaStreamCreateWithPriority = stream_create;
  // Its work goes on; the thread ends with the stand-in.
  api.cudaStreamDestroy = [](cudaStream_t stream) {
    return stream->destroyed = true, --current->living, cudaSuccess;
  };
  api.cudaStreamWaitEvent = stream_wait_event;
  api.cudaEventCreateWithFlags = [](cudaEvent_t* event, unsigned int) {
    return *event = new CUevent_st, ++current->living, cudaSuccess;
  };
  api.cudaEventRecord = event_record;
  api.cudaEventQuery = [](cudaEvent_t event) {
    if (*event->happened >= event->recorded) return cudaSuccess;
    return last_error = cudaErrorNotReady;
  };
  api.cudaGetLastError = [] { return std::exchange(last_error, cudaSuccess); };
  api.cudaEventDestroy = [](cudaEvent_t event) {
    return delete event, --current->living, cudaSuccess;
  };
  api.ncclGetErrorString = [](ncclResult_t code) {
    return code == ncclRemoteError ? "remote process exited or there was a network error"
                                   : "an error of the stand-in";
  };
  api.ncclGetLastError = [](ncclComm_t) { return "its last words\n"; };
  api.ncclGetUniqueId = [](ncclUniqueId* id) {
    std::fill(std::begin(id->internal), std::end(id->internal), 'i');
    return returned<ncclResult_t>("ncclGetUniqueId");
  };
  api.ncclCommInitRankConfig = init_rank;
  api.ncclCommGetAsyncError = get_async_error;
  api.ncclGetVersion = [](int* version) {
    return *version = current->faults->version, returned<ncclResult_t>("ncclGetVersion");
  };
  api.ncclCommDestroy = destroy;
  api.ncclCommAbort = abort;
  api.ncclAllReduce = all_reduce;
  return api;
}

}  // namespace

NcclStandIn::NcclStandIn() : state_(std::make_unique<State>()) {
  MPI_Comm_dup(MPI_COMM_WORLD, &state_->mpi);
  MPI_Comm_rank(state_->mpi, &state_->rank);
  state_->faults = &faults;
  state_->streams.push_back(std::make_unique<CUstream_st>());
  current = state_.get();
  gpu_.api = std::make_shared<comm::GpuApi>(make_api());
  gpu_.allocate = [](void** data, std::size_t bytes) {
    return (*data = std::malloc(bytes)) ? cudaSuccess : cudaErrorMemoryAllocation;
  };
  gpu_.free = [](void* data) { return std::free(data), cudaSuccess; };
  gpu_.copy = copy;
  gpu_.call_host = [](cudaStream_t stream, cudaHostFn_t function, void* data) {
    return current->at(stream).push([=] { function(data); }), cudaSuccess;
  };
  gpu_.synchronize = [](cudaStream_t stream) {
    return current->at(stream).synchronize(), cudaSuccess;
  };
}

NcclStandIn::~NcclStandIn() {
  state_->closing = true;
  state_->streams.clear();
  // An end that was told to hang goes on now.
  while (living() > 0 && faults.abort_hangs) std::this_thread::sleep_for(kBetweenLooks);
  while (state_->connecting > 0) std::this_thread::sleep_for(kBetweenLooks);
  MPI_Comm_free(&state_->mpi);
}

void NcclStandIn::report_asynchronous_error(ncclResult_t code) {
  state_->asynchronous_error = code;
}
void NcclStandIn::let_late_ranks_connect() { state_->late_ranks_connect = true; }
int NcclStandIn::living() const { return state_->living; }

}  // namespace tandem::testing
