#include "tandem/model/safetensors.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "support/temp_dir.hpp"
#include "tandem/core/digest.hpp"
#include "tandem/core/error.hpp"
#include "tandem/core/file.hpp"

namespace tandem::model {
namespace {

using Metadata = std::map<std::string, std::string>;

std::string length_field(std::uint64_t length) {
  return std::string(reinterpret_cast<const char*>(&length), sizeof length);
}

class Safetensors : public ::testing::Test {
 protected:
  std::string path() const { return folder_ / "file.safetensors"; }
  SafetensorsFile round_trip(const std::vector<NamedTensor>& tensors,
                             const Metadata& metadata = {}) {
    write_safetensors(path(), tensors, metadata);
    return read_safetensors(path());
  }
  // The message with which a file of these bytes is refused.
  std::string refusal(const std::string& bytes) {
    write_file_atomically(path(), bytes);
    try {
      read_safetensors(path());
    } catch (const DataError& error) {
      return error.what();
    }
    return "accepted";
  }

 private:
  testing::TempDir folder_;
};

TEST_F(Safetensors, SaysThatAPackedDataSetIsNoModel) {
  for (const std::string start : {"tandem-dataset", "\x89HDF\r\n\x1a\n"}) {
    EXPECT_NE(refusal(start + std::string(100, 'x')).find("is a packed data set"),
              std::string::npos);
  }
}

TEST_F(Safetensors, KeepsEveryTypeNameShapeAndBit) {
  std::vector<NamedTensor> tensors;
  for (const auto type :
       {torch::kFloat64, torch::kFloat32, torch::kFloat16, torch::kBFloat16, torch::kInt64,
        torch::kInt32, torch::kInt16, torch::kInt8, torch::kUInt8}) {
    tensors.push_back({c10::toString(type), torch::randn({3, 2, 5}).mul(30).abs().to(type), false});
  }
  tensors.push_back({"bool", torch::tensor({true, false, true}), false});
  tensors.push_back({"scalar", torch::tensor(7, torch::kInt64), false});
  tensors.push_back({"empty", torch::zeros({0, 4}), false});
  tensors.push_back({"", torch::tensor({1.0F, -0.0F, NAN, INFINITY}), false});
  tensors.push_back({"a \"quoted\" \\ name\n\xC3\xA4", torch::ones({1}), false});

  const SafetensorsFile file = round_trip(tensors);
  ASSERT_EQ(file.tensors.size(), tensors.size());
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const torch::Tensor& expected = tensors[i].tensor;
    const torch::Tensor& found = file.tensors[i].tensor;
    EXPECT_EQ(file.tensors[i].name, tensors[i].name);
    ASSERT_EQ(found.scalar_type(), expected.scalar_type()) << tensors[i].name;
    ASSERT_EQ(found.sizes(), expected.sizes()) << tensors[i].name;
    // A tensor without values has no memory to compare.
    EXPECT_TRUE(expected.numel() == 0 ||
                std::memcmp(found.data_ptr(), expected.data_ptr(), expected.nbytes()) == 0)
        << tensors[i].name;
  }
  EXPECT_TRUE(file.metadata.empty());
}

TEST_F(Safetensors, KeepsMetadata) {
  const Metadata metadata{
      {"model", "simple"}, {"", "empty key"}, {"class", "\xC3\xA9t\xC3\xA9 \"x\"\n"}};
  const SafetensorsFile file = round_trip({{"a", torch::ones({2}), false}}, metadata);
  EXPECT_EQ(file.metadata, metadata);
  EXPECT_EQ(round_trip({}, metadata).metadata, metadata);
  EXPECT_TRUE(round_trip({}).tensors.empty());
}

TEST_F(Safetensors, TellsTheMetadataWithoutTheTensors) {
  write_safetensors(path(), {{"a", torch::ones({2}), false}}, {{"model", "simple"}});
  EXPECT_EQ(read_safetensors_metadata(path()).at("model"), "simple");
  std::string bytes = read_file(path());
  bytes.back() = static_cast<char>(bytes.back() ^ 1);
  EXPECT_NE(refusal(bytes), "accepted");
  EXPECT_EQ(read_safetensors_metadata(path()).at("model"), "simple") << "it proves nothing";
  bytes.pop_back();
  write_file_atomically(path(), bytes);
  EXPECT_THROW(read_safetensors_metadata(path()), DataError);
}

TEST_F(Safetensors, WritesTheLogicalOrderOfStridedAndDifferentiableTensors) {
  const torch::Tensor rows = torch::arange(24, torch::kFloat32).reshape({1, 2, 3, 4});
  const SafetensorsFile file =
      round_trip({{"transposed", rows.transpose(1, 3).requires_grad_(), false},
                  {"channels_last", rows.contiguous(torch::MemoryFormat::ChannelsLast), false},
                  {"slice", rows.flatten().narrow(0, 5, 3), false}});
  EXPECT_TRUE(torch::equal(file.tensors[0].tensor, rows.transpose(1, 3)));
  EXPECT_TRUE(torch::equal(file.tensors[1].tensor, rows));
  EXPECT_TRUE(torch::equal(file.tensors[2].tensor, torch::tensor({5.0F, 6.0F, 7.0F})));
  EXPECT_FALSE(file.tensors[0].tensor.requires_grad());
}

TEST_F(Safetensors, WritesTheseBytes) {
  write_safetensors(path(),
                    {{"a", torch::tensor({true}), false},
                     {"b", torch::tensor({1.0F, 2.0F}), false},
                     {"n", torch::tensor(258, torch::kInt64), true}},
                    {{"k", "v"}});
  // Wide elements first in the data, so that all are aligned; the given order in the header.
  const std::string zeros(64, '0');
  std::string header =
      R"({"__metadata__":{"hash64":"{\"a\":\"83ec686c1600460a\",\"b\":\"c53673c8d973f6c8\",)"
      R"(\"n\":\"3bc1e32203f69a28\"}","k":"v","sha256":")" +
      zeros +
      R"("},"a":{"dtype":"BOOL","shape":[1],"data_offsets":[16,17]},)"
      R"("b":{"dtype":"F32","shape":[2],"data_offsets":[8,16]},)"
      R"("n":{"dtype":"I64","shape":[],"data_offsets":[0,8]}})";
  const std::string padding((8 - header.size() % 8) % 8, ' ');
  const std::string data(
      "\x02\x01\0\0\0\0\0\0"
      "\0\0\x80\x3F\0\0\0\x40"
      "\x01",
      17);
  std::string file = length_field(header.size() + padding.size()) + header + padding + data;
  file.replace(file.find(zeros), zeros.size(), sha256_hex(file));
  EXPECT_EQ(read_file(path()), file);
}

TEST_F(Safetensors, RefusesToWriteWhatItCouldNotRead) {
  const torch::Tensor one = torch::ones({1});
  EXPECT_THROW(write_safetensors(path(), {{"a", one, false}, {"a", one, false}}), InternalError);
  EXPECT_THROW(write_safetensors(path(), {{"__metadata__", one, false}}), InternalError);
  EXPECT_THROW(write_safetensors(path(), {{"a", one.to(torch::kComplexFloat), false}}),
               InternalError);
  EXPECT_THROW(write_safetensors(path(), {{"\xFF", one, false}}), InternalError);
  EXPECT_FALSE(file_exists(path()));
}

TEST_F(Safetensors, RefusesEveryTruncationAndEveryAddition) {
  write_safetensors(path(), {{"a", torch::ones({3}), false}, {"b", torch::ones({2}), false}},
                    {{"k", "v"}});
  const std::string whole = read_file(path());
  for (std::size_t size = 0; size < whole.size(); ++size) {
    EXPECT_NE(refusal(whole.substr(0, size)), "accepted") << size;
  }
  EXPECT_NE(refusal(whole + '\0'), "accepted");
  EXPECT_NE(refusal(whole + whole), "accepted");
  EXPECT_EQ(refusal(whole), "accepted");
}

TEST_F(Safetensors, RefusesFilesThatAreNoSafetensors) {
  const std::string web_page = "<!DOCTYPE html><html><body>404</body></html>";
  EXPECT_NE(refusal(web_page).find("is damaged or not safetensors: found a header length"),
            std::string::npos)
      << refusal(web_page);
  EXPECT_NE(refusal("").find("found 0 bytes"), std::string::npos);
  EXPECT_NE(refusal("1234567").find("found 7 bytes"), std::string::npos);
  EXPECT_NE(refusal(length_field(0)).find("no '{'"), std::string::npos);
  EXPECT_NE(refusal(length_field(3) + " {}").find("no '{'"), std::string::npos);
  EXPECT_NE(refusal(length_field(2) + "[]").find("no '{'"), std::string::npos);
  EXPECT_NE(refusal(length_field(~std::uint64_t{0}) + "{}").find("18446744073709551615"),
            std::string::npos);
  EXPECT_NE(refusal(length_field(3) + "{}").find("at most 2"), std::string::npos);
  EXPECT_EQ(refusal(length_field(2) + "{}"), "accepted");
}

TEST_F(Safetensors, RefusesBoolsThatAreNeither) {
  const std::string header = R"({"b":{"dtype":"BOOL","shape":[2],"data_offsets":[0,2]}})";
  const std::string start = length_field(header.size()) + header;
  EXPECT_EQ(refusal(start + std::string("\x01\x00", 2)), "accepted");
  EXPECT_NE(refusal(start + "\x01\x02").find("BOOL other than 0 and 1"), std::string::npos);
}

TEST_F(Safetensors, NamesTheFileThatIsNotThere) {
  EXPECT_THROW(read_safetensors(path() + ".none"), MissingInputError);
}

}  // namespace
}  // namespace tandem::model
