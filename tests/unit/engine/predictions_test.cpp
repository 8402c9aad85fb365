#include "engine/predict/predictions.hpp"

#include <gtest/gtest.h>

#include "tandem/core/json.hpp"

namespace tandem::app {
namespace {

TEST(Predictions, JsonIsOneLineWhateverTheNames) {
  const std::string line =
      prediction_json("a\n\xff\xc2\x9b.png", {{"chat \xc3\xa9l\xc3\xa9gant", 0.75}, {"dog", 0.25}});
  EXPECT_EQ(line.find('\n'), std::string::npos);
  const Json object = Json::parse(line);
  EXPECT_EQ(object.at("file"), "a\n\xef\xbf\xbd\xc2\x9b.png");
  EXPECT_EQ(object.at("class"), "chat \xc3\xa9l\xc3\xa9gant");
  EXPECT_EQ(object.at("probability"), 0.75);
  EXPECT_EQ(object.at("top").size(), 2U);
  EXPECT_EQ(object.at("top").at(1).at("class"), "dog");
  for (const char byte : line) EXPECT_TRUE(byte >= ' ' && byte < 127);
}

TEST(Predictions, LinesOfTheTableFitBelowItsHeader) {
  const PredictionTable table({"cat", "\xc3\xa9l\xc3\xa9phant", "ox", "dog"});
  EXPECT_EQ(table.header(), "class     p       second    p       third     p       file");
  EXPECT_EQ(table.line("a\n.png", {{"\xc3\xa9l\xc3\xa9phant", 0.5}, {"ox", 0.25}, {"cat", 0.125}}),
            "\xc3\xa9l\xc3\xa9phant  0.5000  ox        0.2500  cat       0.1250  a\\x0a.png");
}

TEST(Predictions, AModelOfOneClassHasNoSecond) {
  const PredictionTable table({"only"});
  EXPECT_EQ(table.header(), "class   p       file");
}

}  // namespace
}  // namespace tandem::app
