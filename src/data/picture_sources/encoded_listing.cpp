#include "encoded_listing.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <numeric>
#include <utility>

#include "data/files/name_rules.hpp"
#include "tandem/core/digest.hpp"
#include "tandem/core/error.hpp"
#include "tandem/data/hold_out.hpp"

namespace tandem::data {
namespace {

using Digest = std::array<std::uint8_t, 32>;
using Numbers = std::vector<std::uint32_t>;

constexpr char kHexDigits[] = "0123456789abcdef";

Digest from_hex(const std::string& hex) {
  const auto value = [](char digit) { return digit <= '9' ? digit - '0' : digit - 'a' + 10; };
  Digest digest;
  for (std::size_t i = 0; i < digest.size(); ++i) {
    digest[i] = static_cast<std::uint8_t>(value(hex[2 * i]) * 16 + value(hex[2 * i + 1]));
  }
  return digest;
}

std::string to_hex(const Digest& digest) {
  std::string hex;
  for (const std::uint8_t byte : digest) {
    hex += kHexDigits[byte >> 4];
    hex += kHexDigits[byte & 15];
  }
  return hex;
}

class ListedSource : public EncodedSource {
 public:
  ListedSource(PictureListing listing, const std::string& input, double test_split,
               std::uint64_t seed)
      : listing_(std::move(listing)), digests_(listing_.names.size()) {
    require_different_names(input);
    Numbers all(listing_.names.size());
    std::iota(all.begin(), all.end(), 0U);
    const auto first_test = all.begin() + static_cast<std::ptrdiff_t>(listing_.train_count);
    numbers_[1].assign(first_test, all.end());
    all.erase(first_test, all.end());
    numbers_[0] = std::move(all);
    if (test_split > 0) split_off(input, test_split, seed);
    require_every_class(input);
    info_.classes = listing_.classes;
    info_.exif_orientation = true;
    info_.multi_label = listing_.multi_label;
    info_.name = is_dataset_name(listing_.name) ? listing_.name : "images";
    info_.train_count = numbers_[0].size();
    info_.test_count = numbers_[1].size();
  }

  const DatasetInfo& info() const override { return info_; }
  std::vector<Label> labels(Split split, std::uint64_t index) const override {
    return labels_of(number(split, index));
  }
  std::string where(Split split, std::uint64_t index) const override {
    return path_within(listing_.root, listing_.names[number(split, index)]);
  }
  std::string read(Split split, std::uint64_t index, const BeforeTaking& before) override {
    const std::uint32_t picture = number(split, index);
    std::string bytes = listing_.read(picture, where(split, index), before);
    digests_[picture] = from_hex(sha256_hex(bytes));
    return bytes;
  }
  PictureStamp stamp(Split split, std::uint64_t index) const override {
    return listing_.stamp(number(split, index), where(split, index));
  }
  bool may_lack_pictures() const override { return listing_.may_lack_pictures; }
  const BrokenFiles& broken() const override { return listing_.broken; }
  const std::string& root() const override { return listing_.root; }

  std::string source_sha256(const PictureNumbers& packed) const override {
    Numbers all;
    for (const Split split : {Split::kTrain, Split::kTest}) {
      for (const std::uint32_t index : packed[index_of(split)]) all.push_back(number(split, index));
    }
    std::sort(all.begin(), all.end(), [&](std::uint32_t a, std::uint32_t b) {
      return listing_.names[a] < listing_.names[b];
    });
    Sha256 digest;
    for (const std::uint32_t picture : all) {
      const std::string line =
          to_hex(digests_[picture]) + "  " + std::string(listing_.names[picture]) + "\n";
      digest.update(line.data(), line.size());
    }
    return digest.finish();
  }

 private:
  std::uint32_t number(Split split, std::uint64_t index) const {
    return numbers_[index_of(split)][index];
  }

  std::vector<Label> labels_of(std::uint32_t picture) const {
    if (!listing_.multi_label) return {listing_.labels[picture]};
    const std::uint64_t begin = picture == 0 ? 0 : listing_.ends[picture - 1];
    const auto first = listing_.all_labels.begin();
    return {first + static_cast<std::ptrdiff_t>(begin),
            first + static_cast<std::ptrdiff_t>(listing_.ends[picture])};
  }

  void require_different_names(const std::string& input) const {
    Numbers order(listing_.names.size());
    std::iota(order.begin(), order.end(), 0U);
    std::stable_sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
      return listing_.names[a] < listing_.names[b];
    });
    for (std::size_t i = 1; i < order.size(); ++i) {
      const std::string_view name = listing_.names[order[i]];
      if (name != listing_.names[order[i - 1]]) continue;
      const auto input_of = [&](std::uint32_t picture) {
        const bool is_tested = picture >= listing_.train_count && !listing_.test_input.empty();
        return is_tested ? listing_.test_input : input;
      };
      const bool is_in_both =
          order[i - 1] < listing_.train_count && order[i] >= listing_.train_count;
      throw DataError(input_of(order[i - 1]) + ": has the picture " + std::string(name) +
                      (is_in_both ? ", and " + input_of(order[i]) +
                                        " has it for testing; remove it from one of them"
                                  : " twice; an epoch uses each picture once, so remove one of "
                                    "them"));
    }
  }

  void split_off(const std::string& input, double share, std::uint64_t seed) {
    const std::vector<bool> is_test =
        draw_of_each_class(listing_.labels, share, seed, "--test-split", input);
    Numbers train;
    for (const std::uint32_t picture : numbers_[0]) {
      (is_test[picture] ? numbers_[1] : train).push_back(picture);
    }
    numbers_[0] = std::move(train);
  }

  void require_every_class(const std::string& input) const {
    if (listing_.may_lack_pictures || !listing_.broken.empty()) return;  // or named by pack()
    std::vector<bool> is_there(listing_.classes.size());
    for (const std::uint32_t picture : numbers_[0]) {
      for (const Label label : labels_of(picture)) is_there[label] = true;
    }
    const auto missing = std::find(is_there.begin(), is_there.end(), false);
    if (missing == is_there.end()) return;
    throw DataError(input + ": has pictures of the class " +
                    listing_.classes[static_cast<std::size_t>(missing - is_there.begin())] +
                    " for testing and none for training; add some, or name the classes with "
                    "--classes");
  }

  const PictureListing listing_;
  DatasetInfo info_;
  std::array<Numbers, 2> numbers_;  // of the pictures of a split
  std::vector<Digest> digests_;     // a picture's is written by the thread that reads it
};

}  // namespace

PictureStamp stamp_of(const std::string& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) {
    // Reading the file names the reason.
    for (const int kind : {ENOENT, ENOTDIR, ELOOP, EACCES, ENAMETOOLONG}) {
      if (errno == kind) return {};
    }
    throw IoError(path + ": stat failed: " + errno_text());
  }
  return {static_cast<std::uint64_t>(status.st_size),
          status.st_mtim.tv_sec * std::int64_t{1'000'000'000} + status.st_mtim.tv_nsec};
}

std::string path_within(const std::string& root, std::string_view name) {
  if (root.empty() || name.substr(0, 1) == "/") return std::string(name);
  return root + "/" + std::string(name);
}

std::unique_ptr<EncodedSource> make_listed_source(PictureListing listing, const std::string& input,
                                                  double test_split, std::uint64_t seed) {
  return std::make_unique<ListedSource>(std::move(listing), input, test_split, seed);
}

}  // namespace tandem::data
