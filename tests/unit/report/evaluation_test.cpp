#include "evaluation.hpp"

#include <gtest/gtest.h>

#include "tandem/core/error.hpp"

namespace tandem::report {
namespace {

Json whole() {
  return Json::parse(R"({"step": 7, "classes": ["cat", "dog"], "confusion": [[3, 1], [0, 4]],
    "shape": [1, 2, 2], "worst": [
      {"index": 5, "label": 0, "predicted": 1, "loss": 2.5, "pixels": "AAECAw=="},
      {"index": 6, "label": 1, "predicted": 1, "loss": null, "pixels": ""}]})");
}

TEST(Answers, AreWhatTheFileSays) {
  const Answers answers = read_answers(whole());
  EXPECT_EQ(answers.step, 7);
  EXPECT_EQ(answers.classes, (std::vector<std::string>{"cat", "dog"}));
  EXPECT_EQ(answers.confusion[0][1], 1);
  EXPECT_EQ(answers.worst[0].pixels, std::string("\0\1\2\3", 4));
  EXPECT_EQ(answers.worst[0].index, 5U);
  EXPECT_TRUE(answers.worst[1].pixels.empty());
}

// Each change alone makes the file one that tandem does not write.
TEST(Answers, ThatDoNotFitTogetherAreRefused) {
  const std::pair<const char*, const char*> changes[] = {{"/classes", "[]"},
                                                         {"/classes", "3"},
                                                         {"/classes", "[\"a\", 1]"},
                                                         {"/classes", "[\"a\", \"b\", \"c\"]"},
                                                         {"/confusion", "[[1, 2]]"},
                                                         {"/confusion/0", "[1]"},
                                                         {"/confusion/0/0", "-1"},
                                                         {"/confusion/0/0", "1.5"},
                                                         {"/confusion/0/0", "1e300"},
                                                         {"/confusion", "null"},
                                                         {"/shape", "[1, 2]"},
                                                         {"/shape", "[1, 2, 3]"},
                                                         {"/shape/2", "100000"},
                                                         {"/worst", "{}"},
                                                         {"/worst/0/label", "2"},
                                                         {"/worst/0/predicted", "\"x\""},
                                                         {"/worst/0/index", "null"},
                                                         {"/worst/0/pixels", "\"AAEC\""},
                                                         {"/worst/0/pixels", "\"no base64\""},
                                                         {"/worst/0", "null"}};
  for (const auto& [place, value] : changes) {
    Json changed = whole();
    changed[Json::json_pointer(place)] = Json::parse(value);
    EXPECT_THROW(read_answers(changed), DataError) << place << " = " << value;
  }
  EXPECT_THROW(read_answers(Json()), DataError);
}

}  // namespace
}  // namespace tandem::report
