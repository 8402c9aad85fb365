#include "tandem/train/reducer.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <thread>

#include "support/lone_communicator.hpp"
#include "tandem/core/error.hpp"

namespace tandem::train {
namespace {

std::vector<ParameterArena::Slot> slots_of(const std::vector<std::size_t>& counts,
                                           std::size_t* floats) {
  std::vector<ParameterArena::Slot> slots;
  *floats = 0;
  for (const std::size_t count : counts) {
    slots.push_back({"p" + std::to_string(slots.size()), {}, *floats, count});
    *floats += (count + 15) / 16 * 16;
  }
  return slots;
}

TEST(Buckets, CoverTheArenaWithoutGaps) {
  std::size_t floats = 0;
  const auto slots = slots_of({10, 100, 3, 3, 500, 1}, &floats);
  for (const std::size_t bytes :
       {std::size_t{0}, std::size_t{1}, std::size_t{256}, std::size_t{4096}}) {
    std::size_t offset = 0;
    std::size_t slot = 0;
    for (const Bucket& bucket : make_buckets(slots, floats, bytes)) {
      EXPECT_EQ(bucket.offset, offset);
      EXPECT_EQ(bucket.offset % ParameterArena::kAlignment, 0U);
      offset += bucket.count;
      slot += bucket.slot_count;
    }
    EXPECT_EQ(offset, floats) << bytes;
    EXPECT_EQ(slot, slots.size()) << bytes;
  }
}

TEST(Buckets, FollowTheAskedSize) {
  std::size_t floats = 0;
  const auto slots = slots_of({16, 16, 16, 16}, &floats);
  EXPECT_EQ(make_buckets(slots, floats, 0).size(), 1U);
  EXPECT_EQ(make_buckets(slots, floats, 1).size(), 4U);
  EXPECT_EQ(make_buckets(slots, floats, 65).size(), 2U);
}

// Notes every sum; results are as for ranks that all bring zeros.
class RecordingCommunicator final : public testing::LoneCommunicator {
 public:
  int size() const override { return 2; }

  std::vector<std::pair<const float*, std::size_t>> started;

 private:
  void do_all_reduce_by(comm::Reduction, comm::Buffer values) override {
    started.emplace_back(values.floats().data(), values.size);
  }
  std::unique_ptr<comm::Request> do_iall_reduce(comm::Buffer values) override {
    started.emplace_back(values.floats().data(), values.size);
    return LoneCommunicator::do_iall_reduce(values);
  }
};

// Three layers, of which the caller chooses the order in which gradients come.
struct Layers : torch::nn::Module {
  torch::Tensor a = register_parameter("a", torch::ones({20}));
  torch::Tensor b = register_parameter("b", torch::ones({20}));
  torch::Tensor c = register_parameter("c", torch::ones({20}));
};

std::vector<std::pair<const float*, std::size_t>> collectives_of(
    ParameterArena& arena, Reducer& reducer, RecordingCommunicator& comm,
    const std::vector<torch::Tensor>& order, bool expect = true) {
  comm.started.clear();
  for (const ParameterArena::Slot& slot : arena.slots()) {
    slot.parameter.grad().fill_(7);  // of the step before
  }
  reducer.begin_micro_batch(0, 1, expect);
  for (const torch::Tensor& parameter : order) (parameter * 2).sum().backward();
  reducer.finish();
  return comm.started;
}

TEST(Reducer, StartsBucketsInIndexOrderWhateverTheOrderOfGradients) {
  Layers layers;
  ParameterArena arena(layers, false);
  RecordingCommunicator comm;
  Reducer reducer(arena, comm, 1);
  ASSERT_EQ(reducer.buckets().size(), 3U);
  const auto forwards = collectives_of(arena, reducer, comm, {layers.a, layers.b, layers.c});
  const auto backwards = collectives_of(arena, reducer, comm, {layers.c, layers.b, layers.a});
  ASSERT_EQ(forwards.size(), 3U);
  EXPECT_EQ(forwards, backwards);
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(forwards[i].first, arena.gradients().data() + reducer.buckets()[i].offset);
  }
  EXPECT_EQ(layers.a.grad()[0].item<float>(), 2.0F);
}

TEST(Reducer, StartsAReadyBucketWhileBackwardStillRuns) {
  Layers layers;
  ParameterArena arena(layers, false);
  RecordingCommunicator comm;
  Reducer reducer(arena, comm, 1);
  reducer.begin_micro_batch(0, 1, true);
  layers.c.sum().backward();  // c is first in the arena
  EXPECT_EQ(comm.started.size(), 1U);
  layers.a.sum().backward();  // a is last: b is missing before it
  EXPECT_EQ(comm.started.size(), 1U);
  layers.b.sum().backward();
  EXPECT_EQ(comm.started.size(), 2U);
  reducer.finish();
  EXPECT_EQ(comm.started.size(), 3U);
}

// Of NCCL's kind: the host never sees that a sum has ended, and need not.
class DeviceLikeCommunicator final : public testing::LoneCommunicator {
 public:
  int size() const override { return 2; }
  bool has_async_progress() const override { return true; }
  int waits = 0;

 private:
  struct Enqueued final : comm::Request {
    explicit Enqueued(int& counter) : waits(counter) {}
    void wait() override { ++waits; }
    bool test() override { return false; }
    int& waits;
  };
  std::unique_ptr<comm::Request> do_iall_reduce(comm::Buffer) override {
    return std::make_unique<Enqueued>(waits);
  }
};

TEST(Reducer, DoesNotAskAgainWhatADeviceHasInItsQueue) {
  Layers layers;
  ParameterArena arena(layers, false);
  DeviceLikeCommunicator comm;
  Reducer reducer(arena, comm, 1);
  reducer.begin_micro_batch(0, 1, true);
  (layers.a + layers.b + layers.c).sum().backward();
  reducer.finish();  // would never end
  EXPECT_EQ(comm.waits, 3);
}

// What a progress thread calls: notes whether two threads ever were here at once, and fails where
// it is told to.
class BackgroundCommunicator final : public testing::LoneCommunicator {
 public:
  int size() const override { return 2; }
  bool is_test_thread_safe() const override { return true; }
  std::vector<std::size_t> started;
  std::atomic<int> callers{0}, most_callers{0}, calls{0};
  int calls_of_a_sum = 20;
  bool fails = false;

 private:
  struct Enter {
    explicit Enter(BackgroundCommunicator& entered) : comm(entered) {
      comm.most_callers = std::max(comm.most_callers.load(), ++comm.callers);
    }
    ~Enter() { --comm.callers; }
    BackgroundCommunicator& comm;
  };
  struct Slow final : comm::Request {
    explicit Slow(BackgroundCommunicator& started_by)
        : comm(started_by), left(comm.calls_of_a_sum) {}
    bool test() override {
      const Enter enter(comm);
      ++comm.calls;
      if (comm.fails) throw InternalError("the link is gone");
      return left == 0 || --left == 0;
    }
    BackgroundCommunicator& comm;
    int left;
  };
  std::unique_ptr<comm::Request> do_iall_reduce(comm::Buffer values) override {
    const Enter enter(*this);
    std::this_thread::sleep_for(std::chrono::milliseconds(1));  // five times between two calls
    started.push_back(values.size);
    return std::make_unique<Slow>(*this);
  }
};

// One of them longer than a piece.
struct LongLayers : torch::nn::Module {
  torch::Tensor a = register_parameter("a", torch::ones({20}));
  torch::Tensor b = register_parameter("b", torch::ones({300'000}));
};

TEST(Reducer, LetsAThreadAdvanceSumsInPieces) {
  LongLayers layers;
  ParameterArena arena(layers, false);
  BackgroundCommunicator comm;
  Reducer reducer(arena, comm, 1);
  for (int step = 0; step < 5; ++step) {
    reducer.begin_micro_batch(0, 1, true);
    layers.b.sum().backward();  // first in the arena: under way while the other is computed
    layers.a.sum().backward();
    reducer.finish();
  }
  ASSERT_EQ(comm.started.size(), 15U);
  EXPECT_EQ(std::vector<std::size_t>(comm.started.begin(), comm.started.begin() + 3),
            (std::vector<std::size_t>{1U << 18, 300'000 - (1U << 18), 32}));
  EXPECT_EQ(comm.most_callers, 1) << "two threads at once";
}

TEST(Reducer, EndsWithWhatTheThreadMet) {
  LongLayers layers;
  ParameterArena arena(layers, false);
  BackgroundCommunicator comm;
  comm.fails = true;
  Reducer reducer(arena, comm, 1);
  reducer.begin_micro_batch(0, 1, true);
  layers.b.sum().backward();
  while (comm.calls == 0) {
  }
  layers.a.sum().backward();
  EXPECT_THROW(reducer.finish(), InternalError);
}

TEST(Reducer, NamesAParameterWithoutGradient) {
  Layers layers;
  ParameterArena arena(layers, false);
  RecordingCommunicator comm;
  Reducer reducer(arena, comm, 0);
  try {
    collectives_of(arena, reducer, comm, {layers.a, layers.c});
    FAIL() << "a missing gradient went unnoticed";
  } catch (const InternalError& error) {
    EXPECT_NE(std::string(error.what()).find("parameter b got no gradient"), std::string::npos)
        << error.what();
  }
}

TEST(Reducer, NamesAParameterWhoseGradientComesTwice) {
  Layers layers;
  ParameterArena arena(layers, false);
  RecordingCommunicator comm;
  Reducer reducer(arena, comm, 0);
  reducer.begin_micro_batch(0, 1, true);
  layers.a.sum().backward();
  try {
    layers.a.sum().backward();
    FAIL() << "a second gradient went unnoticed";
  } catch (const std::exception& error) {  // libtorch wraps what a hook throws
    EXPECT_NE(std::string(error.what()).find("parameter a got its gradient twice"),
              std::string::npos)
        << error.what();
  }
}

TEST(Reducer, ExpectsNoGradientOfWhatIsNotTrainedAnyMore) {
  Layers layers;
  ParameterArena arena(layers, false);
  RecordingCommunicator comm;
  Reducer reducer(arena, comm, 1);
  layers.b.set_requires_grad(false);
  EXPECT_EQ(collectives_of(arena, reducer, comm, {layers.a, layers.c}).size(), 3U);
  EXPECT_EQ(layers.b.grad().count_nonzero().item<std::int64_t>(), 0);
  // It keeps none of the later buckets waiting.
  reducer.begin_micro_batch(0, 1, true);
  comm.started.clear();
  (layers.c * 2).sum().backward();
  EXPECT_EQ(comm.started.size(), 2U);
  (layers.a * 2).sum().backward();
  reducer.finish();
}

TEST(Reducer, TakesPartWithoutImages) {
  Layers layers;
  ParameterArena arena(layers, false);
  RecordingCommunicator comm;
  Reducer reducer(arena, comm, 1);
  EXPECT_EQ(collectives_of(arena, reducer, comm, {}, false).size(), 3U);
  EXPECT_EQ(arena.flat_gradients().count_nonzero().item<std::int64_t>(), 0);
}

// Records the values of each all-reduce when it starts; other ranks get no others.
class CopyingCommunicator final : public testing::LoneCommunicator {
 public:
  int size() const override { return 2; }
  std::vector<float> sent;

 private:
  std::unique_ptr<comm::Request> do_iall_reduce(comm::Buffer values) override {
    sent.insert(sent.end(), values.floats().begin(), values.floats().end());
    return LoneCommunicator::do_iall_reduce(values);
  }
};

TEST(Reducer, SendsNothingOfTheStepBefore) {
  Layers layers;
  ParameterArena arena(layers, false);
  CopyingCommunicator comm;
  Reducer reducer(arena, comm, 1);
  for (const ParameterArena::Slot& slot : arena.slots()) slot.parameter.grad().fill_(7);
  layers.b.set_requires_grad(false);
  for (std::uint64_t micro_batch = 0; micro_batch < 3; ++micro_batch) {
    const bool has_images = micro_batch != 1;
    reducer.begin_micro_batch(micro_batch, 3, has_images);
    if (has_images) (layers.c * 2 + layers.a).sum().backward();
  }
  EXPECT_GT(comm.sent.size(), 0U) << "not while backward runs";
  reducer.finish();
  std::vector<float> expected(96);
  std::fill_n(expected.begin(), 20, 4.0F);       // c: 2 and 2
  std::fill_n(expected.begin() + 64, 20, 2.0F);  // a: 1 and 1
  EXPECT_EQ(comm.sent, expected);
}

TEST(Reducer, LeavesNoHookBehind) {
  Layers layers;
  ParameterArena arena(layers, false);
  RecordingCommunicator comm;
  {
    Reducer reducer(arena, comm, 1);
    reducer.begin_micro_batch(0, 1, true);
  }
  layers.c.sum().backward();  // the first bucket's, which a hook would start
  EXPECT_TRUE(comm.started.empty());
}

}  // namespace
}  // namespace tandem::train
