#include <gtest/gtest.h>

#include <cmath>

#include "tandem/core/json.hpp"

namespace tandem {
namespace {

TEST(JsonFields, AreThoseOfTheTypeAskedForAndNothingElse) {
  const Json object = Json::parse(R"({"text": "a", "number": 2.5, "null": null, "list": [1]})");
  EXPECT_EQ(text_of(object, "text"), "a");
  EXPECT_EQ(number_of(object, "number"), 2.5);
  EXPECT_EQ(member(object, "list"), Json::parse("[1]"));
  for (const char* name : {"number", "null", "list", "absent"})
    EXPECT_EQ(text_of(object, name), "");
  for (const char* name : {"text", "null", "list", "absent"}) {
    EXPECT_TRUE(std::isnan(number_of(object, name))) << name;
  }
  for (const char* text : {"null", "[]", "3", "\"text\""}) {
    EXPECT_TRUE(member(Json::parse(text), "text").is_null()) << text;
  }
}

}  // namespace
}  // namespace tandem
