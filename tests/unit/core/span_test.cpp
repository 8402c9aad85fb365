#include "tandem/core/span.hpp"

#include <gtest/gtest.h>

#include <numeric>
#include <vector>

namespace tandem {
namespace {

int sum(Span<const int> values) { return std::accumulate(values.begin(), values.end(), 0); }

TEST(Span, SeesTheVectorItWasMadeFrom) {
  std::vector<int> values{1, 2, 3, 4};
  const Span<int> span(values);
  span[1] = 20;
  EXPECT_EQ(values[1], 20);
  EXPECT_EQ(span.size(), 4U);
  EXPECT_EQ(sum(span), 28);
}

TEST(Span, SubspanIsAView) {
  const std::vector<int> values{1, 2, 3, 4};
  const Span<const int> middle = Span<const int>(values).subspan(1, 2);
  EXPECT_EQ(middle.data(), values.data() + 1);
  EXPECT_EQ(sum(middle), 5);
  EXPECT_TRUE(middle.subspan(2, 0).empty());
}

}  // namespace
}  // namespace tandem
