#include <gtest/gtest.h>

#include <algorithm>

#include "commands/self_description.hpp"

namespace tandem::app {
namespace {

std::vector<std::string> offered(const std::vector<std::string>& words) {
  std::vector<std::string> found;
  for (const Candidate& each : complete(all_commands(), words)) {
    found.push_back(each.word + (each.word.front() == ':' ? each.help : ""));
  }
  return found;
}

TEST(Completion, OffersTheFilesThatAnOptionTakes) {
  EXPECT_EQ(offered({"train", "--data", ""}), std::vector<std::string>{":files*.h5"});
  EXPECT_EQ(offered({"report", "--output", ""}), std::vector<std::string>{":files*.html"});
  EXPECT_EQ(offered({"train", "--config", ""}), std::vector<std::string>{":files"});
  EXPECT_EQ(offered({"train", "--runs-dir", ""}), std::vector<std::string>{":folders"});
  EXPECT_EQ(offered({"report", ""}), std::vector<std::string>{":folders"});
  EXPECT_EQ(offered({"verify", ""}), std::vector<std::string>{":files"});
}

TEST(Completion, OffersOptionsOfTrainAfterTwoDashes) {
  const std::vector<std::string> recipe{"--recipe"};
  EXPECT_EQ(offered({"emit", "sbatch", "--", "--reci"}), recipe);
  EXPECT_EQ(offered({"bench", "tta", "--", "--reci"}), recipe);
  const std::vector<std::string> of_step = offered({"bench", "step", "--", "--reci"});
  EXPECT_EQ(std::count(of_step.begin(), of_step.end(), "--recipe"), 0);
}

TEST(Completion, OffersRecipesBeforeFiles) {
  const std::vector<std::string> recipes = offered({"train", "--recipe", ""});
  EXPECT_EQ(std::count(recipes.begin(), recipes.end(), "mnist-lenet"), 1);
  EXPECT_EQ(std::count(recipes.begin(), recipes.end(), ":files*.conf"), 0);
  EXPECT_EQ(offered({"train", "--recipe", "no-recipe"}), std::vector<std::string>{":files*.conf"});
}

}  // namespace
}  // namespace tandem::app
