#include "data/picture_sources/same_pictures.hpp"

#include <gtest/gtest.h>

#include <string>

#include "tandem/core/error.hpp"

namespace tandem::data {
namespace {

TEST(SamePictures, AreSearchedForWithChecks) {
  PictureListing listing;
  listing.root = "/nowhere";
  listing.train_count = 20000;
  for (int i = 0; i < 20000; ++i) listing.names.add(std::to_string(i));
  int checks = 0;
  require_different_files(listing, "list.csv", true, [&] { ++checks; });
  EXPECT_EQ(checks, 5 + 4) << "while names are resolved, and while they are compared";
  EXPECT_THROW(require_different_files(listing, "list.csv", true, [] { throw IoError("end"); }),
               IoError);
}

}  // namespace
}  // namespace tandem::data
