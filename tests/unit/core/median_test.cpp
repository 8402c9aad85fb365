#include "tandem/core/median.hpp"

#include <gtest/gtest.h>

#include "tandem/core/error.hpp"

namespace tandem {
namespace {

TEST(MedianOf, IsTheMiddleOneOrTheHigherOfTwo) {
  EXPECT_EQ(median_of({3}), 3);
  EXPECT_EQ(median_of({5, 1, 3}), 3);
  EXPECT_EQ(median_of({4, 1, 3, 2}), 3);
  EXPECT_THROW(median_of({}), InternalError);
}

}  // namespace
}  // namespace tandem
