#include "tandem/core/json.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "tandem/core/error.hpp"

namespace tandem {
namespace {

std::string nested(std::size_t levels, const std::string& open, const std::string& close) {
  std::string text;
  for (std::size_t i = 0; i < levels; ++i) text += open;
  text += "1";
  for (std::size_t i = 0; i < levels; ++i) text += close;
  return text;
}

TEST(DumpAnyBytes, ReplacesWhatIsNotUtf8) {
  const Json json{{"name", "caf\xc3\xa9 \xff"}};
  EXPECT_THROW(json.dump(), Json::type_error);
  EXPECT_EQ(dump_any_bytes(json), "{\"name\":\"caf\xc3\xa9 \xef\xbf\xbd\"}");
  EXPECT_EQ(dump_any_bytes(json, 2), "{\n  \"name\": \"caf\xc3\xa9 \xef\xbf\xbd\"\n}");
  EXPECT_EQ(dump_as_ascii(json), "{\"name\":\"caf\\u00e9 \\ufffd\"}");
}

TEST(ParseJson, DeepNestingIsRefusedBeforeItIsParsed) {
  for (const auto& [open, close] :
       {std::pair<std::string, std::string>{"[", "]"}, {"{\"a\":", "}"}, {"{\"\\\"[\":[", "]}"}}) {
    const std::size_t of_one = open.size() > 6 ? 2 : 1;
    const std::size_t most = kMaxJsonDepth / of_one;
    EXPECT_EQ(parse_json(nested(most, open, close)).dump(), nested(most, open, close));
    EXPECT_THROW(parse_json(nested(most + 1, open, close)), DataError) << open;
    EXPECT_TRUE(parse_json_or_discard(nested(most + 1, open, close)).is_discarded());
    // Before the parser could take memory for it, closed or not.
    EXPECT_TRUE(parse_json_or_discard(nested(2'000'000, open, "")).is_discarded());
  }
}

TEST(ParseJson, BracketsInTextsAreNoLevels) {
  const std::string text = "{\"a\":\"" + std::string(1000, '[') + "\\\\\"}";
  EXPECT_EQ(parse_json(text)["a"].get<std::string>().size(), 1001U);
  const std::string wide = "[" + std::string(500, ' ') + "[],[],{},[[]]]";
  EXPECT_EQ(parse_json(wide).size(), 4U);
}

TEST(ParseJson, WhatIsNoJsonIsRefused) {
  EXPECT_THROW(parse_json("{"), Json::parse_error);
  EXPECT_TRUE(parse_json_or_discard("]").is_discarded());
  EXPECT_TRUE(parse_json_or_discard("").is_discarded());
}

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
