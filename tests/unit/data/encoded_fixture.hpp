// A packed set of picture files: 36 pictures of three classes, a quarter of them for testing.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "data_fixtures.hpp"
#include "encoded_pictures.hpp"
#include "support/temp_dir.hpp"
#include "tandem/data/pack.hpp"

namespace tandem::testing {

class EncodedSet : public ::testing::Test {
 protected:
  void SetUp() override {
    write_pictures(folder_ / "pets", 3, 12);
    data::pack(request());
    bytes_ = read_bytes(path_);
  }

  data::PackRequest request() {
    data::PackRequest request;
    request.input = folder_ / "pets";
    request.output = path_;
    request.test_split = 0.25;
    request.store = data::Store::kEncoded;
    request.height = request.width = 8;
    return request;
  }

  TempDir folder_;
  std::string path_ = folder_ / "set.h5";
  std::string bytes_;
};

}  // namespace tandem::testing
