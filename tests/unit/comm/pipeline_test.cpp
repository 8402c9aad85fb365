// That stages start in one order whatever the order in which the ones before them end.
#include "pipeline.hpp"

#include <gtest/gtest.h>

#include <stdexcept>
#include <string>

namespace tandem::comm {
namespace {

// Stages note their start and end when the test says so.
class PipelineTest : public ::testing::Test {
 protected:
  struct Call final : Request {
    explicit Call(const bool& ended) : ended_(ended) {}
    void wait() override {}
    bool test() override { return ended_; }
    const bool& ended_;
  };
  Pipeline::Stage stage(const std::string& name, const bool& ended) {
    return [this, name, &ended] {
      started_ += name + " ";
      return std::make_unique<Call>(ended);
    };
  }
  // Ends when it has been asked often enough.
  struct SlowCall final : Request {
    explicit SlowCall(int& questions) : questions_(questions) {}
    void wait() override {}
    bool test() override { return --questions_ <= 0; }
    int& questions_;
  };
  Pipeline::Stage slow_stage(const std::string& name, int& questions) {
    return [this, name, &questions] {
      started_ += name + " ";
      return std::make_unique<SlowCall>(questions);
    };
  }
  std::string started_;
  bool no_ = false;
  bool a_ = false;
  bool b_ = false;
};

TEST_F(PipelineTest, StartsTheFirstStageAtOnceAndTheNextWhenItHasEnded) {
  Pipeline pipeline;
  const auto request = pipeline.start({stage("a1", a_), stage("a2", b_)});
  EXPECT_EQ(started_, "a1 ");
  EXPECT_FALSE(request->test());
  EXPECT_EQ(started_, "a1 ");
  a_ = true;
  EXPECT_FALSE(request->test());
  EXPECT_EQ(started_, "a1 a2 ");
  b_ = true;
  EXPECT_TRUE(request->test());
  EXPECT_TRUE(request->test());
}

TEST_F(PipelineTest, AStageWaitsForThatOfTheExchangeBefore) {
  Pipeline pipeline;
  const auto first = pipeline.start({stage("a1", a_), stage("a2", b_)});
  bool yes = true;
  const auto second = pipeline.start({stage("b1", yes), stage("b2", yes)});
  EXPECT_FALSE(second->test());
  EXPECT_EQ(started_, "a1 b1 ") << "b1 has ended, but a2 was not started";
  a_ = true;
  EXPECT_TRUE(second->test()) << "a2 was started, though it has not ended";
  EXPECT_EQ(started_, "a1 b1 a2 b2 ");
  EXPECT_FALSE(first->test());
  b_ = true;
  EXPECT_TRUE(first->test());
}

TEST_F(PipelineTest, AStageMayBeDoneAtOnce) {
  Pipeline pipeline;
  const auto request = pipeline.start({stage("a1", a_), [this] {
                                         started_ += "done ";
                                         return nullptr;
                                       }});
  a_ = true;
  EXPECT_TRUE(request->test());
  EXPECT_EQ(started_, "a1 done ");
}

TEST_F(PipelineTest, AskingOneAdvancesAll) {
  Pipeline pipeline;
  const auto first = pipeline.start({stage("a1", a_), stage("a2", no_)});
  const auto second = pipeline.start({stage("b1", b_), stage("b2", no_)});
  a_ = b_ = true;
  EXPECT_FALSE(first->test());
  EXPECT_EQ(started_, "a1 b1 a2 b2 ");
  no_ = true;
}

TEST_F(PipelineTest, ADroppedExchangeIsWaitedFor) {
  Pipeline pipeline;
  int left = 3;
  a_ = true;
  pipeline.start({slow_stage("a1", left), stage("a2", a_)});
  EXPECT_EQ(left, 0);
  EXPECT_EQ(started_, "a1 a2 ");
}

TEST_F(PipelineTest, DrainWaitsForAll) {
  Pipeline pipeline;
  int left = 3;
  a_ = true;
  const auto request = pipeline.start({slow_stage("a1", left), stage("a2", a_)});
  ASSERT_EQ(started_, "a1 ");
  pipeline.drain();
  EXPECT_EQ(started_, "a1 a2 ");
  EXPECT_TRUE(request->test());
}

TEST_F(PipelineTest, AStageThatDidNotStartIsTriedAgain) {
  Pipeline pipeline;
  int times = 0;
  const auto request = pipeline.start({stage("a1", a_), [&times]() -> std::unique_ptr<Request> {
                                         if (++times == 1) throw std::runtime_error("not yet");
                                         return nullptr;
                                       }});
  a_ = true;
  EXPECT_THROW(request->test(), std::runtime_error);
  EXPECT_TRUE(request->test());
  EXPECT_EQ(times, 2);
}

TEST_F(PipelineTest, ThrowsWhatAStageThrows) {
  Pipeline pipeline;
  const auto request = pipeline.start({stage("a1", a_), []() -> std::unique_ptr<Request> {
                                         throw std::runtime_error("the link is gone");
                                       }});
  a_ = true;
  EXPECT_THROW(request->test(), std::runtime_error);
}

}  // namespace
}  // namespace tandem::comm
