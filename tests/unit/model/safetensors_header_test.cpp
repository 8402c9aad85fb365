#include "model/safetensors_header.hpp"

#include <gtest/gtest.h>

#include "tandem/core/error.hpp"

namespace tandem::model {
namespace {

std::string refusal(const std::string& json, std::uint64_t data_bytes) {
  try {
    parse_safetensors_header("net.safetensors", json, data_bytes);
  } catch (const DataError& error) {
    return error.what();
  }
  return "accepted";
}

TEST(SafetensorsHeader, AcceptsAnyOrderOfTensorsAndOffsets) {
  const SafetensorsHeader header = parse_safetensors_header(
      "net.safetensors",
      R"({"b":{"shape":[2,1],"data_offsets":[4,12],"dtype":"F32"},"__metadata__":{"k":"v"},)"
      R"("none":{"dtype":"I64","shape":[0,5],"data_offsets":[4,4]},)"
      R"("a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]}}  )",
      12);
  ASSERT_EQ(header.entries.size(), 3U);
  EXPECT_EQ(header.entries[0].name, "b");
  EXPECT_EQ(header.entries[0].type, torch::kFloat32);
  EXPECT_EQ(header.entries[0].shape, (std::vector<std::int64_t>{2, 1}));
  EXPECT_EQ(header.entries[0].begin, 4U);
  EXPECT_EQ(header.entries[0].end, 12U);
  EXPECT_EQ(header.entries[2].name, "a");
  EXPECT_EQ(header.metadata.at("k"), "v");
}

struct Malformed {
  const char* what;
  std::string json;
  const char* expected;  // in the message
};

// A tensor of two floats, with one of its fields replaced.
std::string tensor(const std::string& dtype = R"("F32")", const std::string& shape = "[2]",
                   const std::string& offsets = "[0,8]") {
  return R"({"dtype":)" + dtype + R"(,"shape":)" + shape + R"(,"data_offsets":)" + offsets + "}";
}
std::string named(const std::string& value) { return R"({"w":)" + value + "}"; }

std::vector<Malformed> malformed_headers() {
  std::string deep = R"({"w":)";
  for (int i = 0; i < 100'000; ++i) deep += R"({"w":)";
  std::string dimensions = "[1";
  for (int i = 0; i < 40; ++i) dimensions += ",1";
  dimensions += "]";
  const std::string w = tensor();
  return {
      {"nothing", "", "no JSON"},
      {"half an object", R"({"w":{"dtype":"F32")", "no JSON"},
      {"two documents", named(w) + named(w), "no JSON"},
      {"a comment", "/**/" + named(w), "no JSON"},
      {"a byte of Latin-1", "{\"\xE4\":" + w + "}", "no JSON"},
      {"an array", "[1]", "an array"},
      {"a number", "1", "a number"},
      {"null", "null", "null"},
      {"depth", deep, "the key 'w'"},
      {"a tensor that is a number", named("1"), "tensor 'w': found a number, expected an object"},
      {"a tensor that is an array", named("[]"), "tensor 'w': found an array"},
      {"a tensor that is a string", named(R"("x")"), "tensor 'w': found a string"},
      {"a tensor twice", R"({"w":)" + w + R"(,"w":)" + w + "}", "its name twice"},
      {"metadata twice", R"({"__metadata__":{},"__metadata__":{},"w":)" + w + "}",
       "its name twice"},
      {"a metadata key twice", R"({"__metadata__":{"k":"1","k":"2"},"w":)" + w + "}",
       "the metadata key 'k' twice"},
      {"a metadata number", R"({"__metadata__":{"k":1}})", "expected a string"},
      {"a metadata object", R"({"__metadata__":{"k":{}}})", "expected a string"},
      {"metadata that is a list", R"({"__metadata__":[]})", "expected an object"},
      {"an unknown key", R"({"w":{"dtype":"F32","shape":[2],"strides":[1]}})", "the key 'strides'"},
      {"dtype twice", R"({"w":{"dtype":"F32","dtype":"F32"}})", "'dtype' twice"},
      {"no dtype", R"({"w":{"shape":[2],"data_offsets":[0,8]}})", "no 'dtype'"},
      {"no shape", R"({"w":{"dtype":"F32","data_offsets":[0,8]}})", "no 'shape'"},
      {"no offsets", R"({"w":{"dtype":"F32","shape":[2]}})", "no 'data_offsets'"},
      {"an unknown dtype", named(tensor(R"("F31")")), "dtype 'F31', expected one of F64"},
      {"a dtype in lower case", named(tensor(R"("f32")")), "dtype 'f32'"},
      {"a dtype that is a number", named(tensor("32")), "a number as 'dtype', expected a string"},
      {"a dtype that is an array", named(tensor(R"(["F32"])")), "an array as 'dtype'"},
      {"a shape that is a number", named(tensor(R"("F32")", "2")), "a number as 'shape'"},
      {"a negative size", named(tensor(R"("F32")", "[-2]")), "a negative number in 'shape'"},
      {"a broken size", named(tensor(R"("F32")", "[2.0]")), "2.0 in 'shape'"},
      {"a nested shape", named(tensor(R"("F32")", "[[2]]")), "an array in 'shape'"},
      {"a size of 2^64", named(tensor(R"("F32")", "[18446744073709551616]")), "in 'shape'"},
      {"a size of 2^63", named(tensor(R"("F32")", "[9223372036854775808]")), "below 2^63"},
      {"too many dimensions", named(tensor(R"("F32")", dimensions)), "more than 32 numbers"},
      {"a product that overflows to 8", named(tensor(R"("F32")", "[4611686018427387904,4,2]")),
       "more than 2^63 bytes"},
      {"an empty tensor that overflows",
       named(tensor(R"("F32")", "[0,4611686018427387904,4]", "[0,0]")), "more than 2^63 bytes"},
      {"one offset", named(tensor(R"("F32")", "[2]", "[8]")), "1 data_offsets, expected two"},
      {"three offsets", named(tensor(R"("F32")", "[2]", "[0,4,8]")), "3 data_offsets"},
      {"offsets in reverse", named(tensor(R"("F32")", "[2]", "[8,0]")), "data_offsets [8, 0]"},
      {"too few bytes", named(tensor(R"("F32")", "[2]", "[0,7]")),
       "tensor 'w': found data_offsets [0, 7], expected 8 bytes"},
      {"the bytes of another dtype", named(tensor(R"("F16")")), "expected 4 bytes"},
      {"a hole at the start", named(tensor(R"("F32")", "[1]", "[4,8]")),
       "its data at 4, expected 0"},
      {"a hole at the end", named(tensor(R"("F32")", "[1]", "[0,4]")),
       "8 bytes after the header, expected 4"},
      {"data beyond the end", named(tensor(R"("F32")", "[3]", "[0,12]")),
       "expected 12, which its tensors take"},
      {"no tensor for the data", "{}", "8 bytes after the header, expected 0"},
      {"an overlap", R"({"v":)" + w + R"(,"w":)" + tensor(R"("F32")", "[1]", "[4,8]") + "}",
       "tensor 'w': found its data at 4, expected 8"},
      {"the same data twice", R"({"v":)" + w + R"(,"w":)" + w + "}", "its data at 0, expected 8"},
      {"an empty tensor inside another",
       R"({"v":)" + w + R"(,"w":)" + tensor(R"("F32")", "[0]", "[4,4]") + "}", "its data at 4"},
  };
}

TEST(SafetensorsHeader, RefusesWhatIsMalformed) {
  for (const Malformed& header : malformed_headers()) {
    const std::string message = refusal(header.json, 8);
    EXPECT_NE(message.find(header.expected), std::string::npos) << header.what << ": " << message;
    EXPECT_EQ(message.rfind("net.safetensors: ", 0), 0U) << header.what;
    EXPECT_LT(message.size(), 300U) << header.what;
  }
  EXPECT_EQ(refusal(named(tensor()), 8), "accepted");
}

TEST(SafetensorsHeader, SurvivesEveryChangeOfOneByte) {
  const std::string whole = R"({"__metadata__":{"k":"v"},"n":)" +
                            tensor(R"("I64")", "[]", "[0,8]") + R"(,"w":)" +
                            tensor(R"("F32")", "[3]", "[8,20]") + "}  ";
  ASSERT_EQ(refusal(whole, 20), "accepted");
  int refused = 0;
  for (std::size_t at = 0; at < whole.size(); ++at) {
    for (int byte = 0; byte < 256; ++byte) {
      std::string changed = whole;
      changed[at] = static_cast<char>(byte);
      refused += refusal(changed, 20) == "accepted" ? 0 : 1;  // anything but DataError fails
    }
  }
  EXPECT_GT(refused, 20'000);
}

}  // namespace
}  // namespace tandem::model
