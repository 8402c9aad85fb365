#include "tandem/comm/progress_thread.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <future>
#include <stdexcept>
#include <thread>

namespace tandem::comm {
namespace {

// Calls that `advance` got, of which the last one says that all is done.
class Work {
 public:
  explicit Work(int calls) : left_(calls) {}
  bool operator()() {
    if (--left_ > 0) return false;
    if (left_ == 0) done_.set_value();
    return true;
  }
  // Fails the test by its time-out where nobody calls.
  void wait() { done_.get_future().wait(); }
  int calls_too_many() const { return -left_; }

 private:
  int left_;
  std::promise<void> done_;
};

TEST(ProgressThread, CallsUntilNothingIsUnderWay) {
  Work work(5);
  ProgressThread thread([&] { return work(); });
  {
    const auto lock = thread.hold();
    thread.begin();
  }
  work.wait();
  const auto lock = thread.hold();
  EXPECT_EQ(work.calls_too_many(), 0);
  thread.finish();
}

TEST(ProgressThread, DoesNothingBeforeItBegins) {
  int calls = 0;
  {
    ProgressThread thread([&] {
      ++calls;
      return true;
    });
  }
  EXPECT_EQ(calls, 0);
}

TEST(ProgressThread, IsHeldOff) {
  Work work(1);
  ProgressThread thread([&] { return work(); });
  auto lock = thread.hold();
  thread.begin();
  thread.finish();  // before the thread could call
  lock.unlock();
  std::this_thread::sleep_for(std::chrono::milliseconds(2));  // ten times between two calls
  lock.lock();
  EXPECT_EQ(work.calls_too_many(), -1) << "nobody has called";
  thread.begin();
  lock.unlock();
  work.wait();
}

TEST(ProgressThread, AnErrorEndsTheCallsAndReachesTheUser) {
  std::promise<void> thrown;
  int calls = 0;
  ProgressThread thread([&]() -> bool {
    if (++calls == 1) thrown.set_value();
    throw std::runtime_error("the link is gone");
  });
  {
    const auto lock = thread.hold();
    thread.begin();
  }
  thrown.get_future().wait();
  const auto lock = thread.hold();
  thread.begin();  // another bucket
  EXPECT_THROW(thread.finish(), std::runtime_error);
  EXPECT_EQ(calls, 1);
  EXPECT_NO_THROW(thread.finish()) << "once";
}

}  // namespace
}  // namespace tandem::comm
