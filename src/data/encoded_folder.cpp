#include <algorithm>
#include <array>
#include <filesystem>
#include <utility>

#include "class_folders.hpp"
#include "encoded_source.hpp"
#include "name_rules.hpp"
#include "tandem/core/digest.hpp"
#include "tandem/core/error.hpp"
#include "tandem/core/file.hpp"
#include "tandem/data/hold_out.hpp"
#include "tandem/data/image_file.hpp"

namespace tandem::data {
namespace {

using Digest = std::array<std::uint8_t, 32>;

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

class EncodedFolder : public EncodedSource {
 public:
  EncodedFolder(std::string path, const EncodedFolderOptions& options) : root_(std::move(path)) {
    ClassFolders found = find_class_folders(root_, options.test_split > 0, options.check);
    if (!found.usage_fault.empty()) throw UsageError(found.usage_fault);
    info_.classes = std::move(found.classes);
    info_.exif_orientation = true;
    broken_ = std::move(found.broken);
    files_[0] = std::move(found.train);
    files_[1] = std::move(found.test);
    if (options.test_split > 0) split_off(options);
    info_.name = std::filesystem::path(root_).filename().string();
    if (!is_dataset_name(info_.name)) info_.name = "images";
    info_.train_count = files_[0].size();
    info_.test_count = files_[1].size();
    for (std::size_t i = 0; i < 2; ++i) digests_[i].resize(files_[i].size());
  }

  const DatasetInfo& info() const override { return info_; }
  Label label(Split split, std::uint64_t index) const override { return file(split, index).label; }
  std::string where(Split split, std::uint64_t index) const override {
    return file(split, index).path;
  }

  std::string read(Split split, std::uint64_t index,
                   const std::function<void(std::uint64_t)>& before) override {
    std::string bytes = read_picture_bytes(file(split, index).path, before);
    digests_[index_of(split)][index] = from_hex(sha256_hex(bytes));
    return bytes;
  }

  const BrokenFiles& broken() const override { return broken_; }
  const std::string& root() const override { return root_; }

  std::string source_sha256(const BrokenFiles& left_out) const override {
    std::vector<std::pair<std::uint32_t, std::uint32_t>> all;  // split, index
    for (std::uint32_t i = 0; i < 2; ++i) {
      for (std::uint32_t k = 0; k < files_[i].size(); ++k) all.emplace_back(i, k);
    }
    const auto path = [&](const auto& place) -> const std::string& {
      return files_[place.first][place.second].path;
    };
    std::sort(all.begin(), all.end(),
              [&](const auto& a, const auto& b) { return path(a) < path(b); });
    Sha256 digest;
    for (const auto& place : all) {
      if (std::binary_search(left_out.begin(), left_out.end(), BrokenFile{path(place), ""})) {
        continue;
      }
      const std::string line = to_hex(digests_[place.first][place.second]) + "  " +
                               path(place).substr(root_.size() + 1) + "\n";
      digest.update(line.data(), line.size());
    }
    return digest.finish();
  }

 private:
  const PictureFile& file(Split split, std::uint64_t index) const {
    return files_[index_of(split)][index];
  }

  void split_off(const EncodedFolderOptions& options) {
    std::vector<Label> labels;
    for (const PictureFile& each : files_[0]) labels.push_back(each.label);
    const std::vector<bool> is_test =
        draw_of_each_class(labels, options.test_split, options.seed, "--test-split", root_);
    std::vector<PictureFile> rest;
    for (std::size_t i = 0; i < is_test.size(); ++i) {
      (is_test[i] ? files_[1] : rest).push_back(std::move(files_[0][i]));
    }
    files_[0] = std::move(rest);
  }

  const std::string root_;
  DatasetInfo info_;
  std::array<std::vector<PictureFile>, 2> files_;
  std::array<std::vector<Digest>, 2>
      digests_;  // a picture's is written by the thread that reads it
  BrokenFiles broken_;
};

}  // namespace

std::unique_ptr<EncodedSource> open_encoded_folder(const std::string& path,
                                                   const EncodedFolderOptions& options) {
  if (!is_folder(path)) {
    throw DataError(path +
                    ": is not a folder; one with a folder of pictures for each class was "
                    "expected");
  }
  std::string root = path;
  while (root.size() > 1 && root.back() == '/') root.pop_back();
  return std::make_unique<EncodedFolder>(std::move(root), options);
}

}  // namespace tandem::data
