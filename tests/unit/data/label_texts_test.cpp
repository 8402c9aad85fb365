#include "data/picture_sources/label_texts.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "data_fixtures.hpp"

namespace tandem::data {
namespace {

using testing::expect_error;
using Names = std::vector<std::string>;
using Labels = std::vector<Label>;

LabelTexts texts(const Names& labels) {
  LabelTexts made;
  for (const std::string& label : labels) made.number_of(label, "at " + label);
  return made;
}

TEST(LabelTexts, AreClassesThemselves) {
  const LabelTexts::Classes words = texts({"dog", "cat", "dog", "10"}).classes({}, "");
  EXPECT_EQ(words.names, (Names{"10", "cat", "dog"}));
  EXPECT_EQ(words.of_text, (Labels{2, 1, 0}));
  const LabelTexts::Classes numbers = texts({"10", "9", "1"}).classes({}, "");
  EXPECT_EQ(numbers.names, (Names{"1", "9", "10"}));
  EXPECT_EQ(numbers.of_text, (Labels{2, 1, 0}));
}

TEST(LabelTexts, AreNamesOrPlaces) {
  EXPECT_EQ(texts({"b", "a"}).classes({"a", "b", "c"}, "f").of_text, (Labels{1, 0}));
  EXPECT_EQ(texts({"2", "0"}).classes({"a", "b", "c"}, "f").of_text, (Labels{2, 0}));
  EXPECT_EQ(texts({"2", "1"}).classes({"1", "2"}, "f").of_text, (Labels{1, 0})) << "names first";
  EXPECT_EQ(texts({"2", "0"}).classes({"1", "2", "9"}, "f").of_text, (Labels{2, 0}));
}

TEST(LabelTexts, OthersAreNamed) {
  const Names names{"a", "b"};
  expect_error(ExitCode::kBadData, {"at c: has the label 'c', one of the 2 names in f", "0 to 1"},
               [&] {
                 texts({"a", "c"}).classes(names, "f");
               });
  expect_error(ExitCode::kBadData, {"at 2: "}, [&] { texts({"0", "2"}).classes(names, "f"); });
  expect_error(ExitCode::kBadData, {"at 0: "}, [&] { texts({"a", "0"}).classes(names, "f"); });
  LabelTexts many;
  for (std::size_t i = 0; i < kMaxClasses; ++i) many.number_of(std::to_string(i), "x");
  EXPECT_EQ(many.number_of("65534", "x"), 65534);
  expect_error(ExitCode::kBadData, {"y: is label number 65,536"},
               [&] { many.number_of("z", "y"); });
  EXPECT_EQ(LabelTexts::fault_of_label("cat"), "");
  EXPECT_NE(LabelTexts::fault_of_label(""), "");
  EXPECT_NE(LabelTexts::fault_of_label(std::string(101, 'x')), "");
  EXPECT_NE(LabelTexts::fault_of_label("a\nb"), "");
}

}  // namespace
}  // namespace tandem::data
