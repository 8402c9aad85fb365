#include "tandem/train/reducer.hpp"

#include <gtest/gtest.h>

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
  void do_all_reduce(void* data, std::size_t count, comm::DataType, comm::Reduction) override {
    started.emplace_back(static_cast<const float*>(data), count);
  }
  std::unique_ptr<comm::Pending> do_start_all_reduce(void* data, std::size_t count,
                                                     comm::DataType type) override {
    started.emplace_back(static_cast<const float*>(data), count);
    return LoneCommunicator::do_start_all_reduce(data, count, type);
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
  arena.zero_gradients();
  reducer.begin_part(0, 1, expect);
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
  arena.zero_gradients();
  reducer.begin_part(0, 1, true);
  layers.c.sum().backward();  // c is first in the arena
  EXPECT_EQ(comm.started.size(), 1U);
  layers.a.sum().backward();  // a is last: b is missing before it
  EXPECT_EQ(comm.started.size(), 1U);
  layers.b.sum().backward();
  EXPECT_EQ(comm.started.size(), 2U);
  reducer.finish();
  EXPECT_EQ(comm.started.size(), 3U);
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

TEST(Reducer, ExpectsNoGradientOfWhatIsNotTrainedAnyMore) {
  Layers layers;
  ParameterArena arena(layers, false);
  RecordingCommunicator comm;
  Reducer reducer(arena, comm, 1);
  layers.b.set_requires_grad(false);
  EXPECT_EQ(collectives_of(arena, reducer, comm, {layers.a, layers.c}).size(), 3U);
  EXPECT_EQ(layers.b.grad().count_nonzero().item<std::int64_t>(), 0);
  // It keeps none of the later buckets waiting.
  arena.zero_gradients();
  reducer.begin_part(0, 1, true);
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
}

TEST(Reducer, LeavesNoHookBehind) {
  Layers layers;
  ParameterArena arena(layers, false);
  RecordingCommunicator comm;
  {
    Reducer reducer(arena, comm, 1);
    reducer.begin_part(0, 1, true);
  }
  layers.c.sum().backward();  // the first bucket's, which a hook would start
  EXPECT_TRUE(comm.started.empty());
}

}  // namespace
}  // namespace tandem::train
