#include "same_pictures.hpp"

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <set>
#include <system_error>
#include <unordered_map>
#include <utility>
#include <vector>

#include "tandem/core/digest.hpp"
#include "tandem/core/error.hpp"

namespace tandem::data {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kPathsBetweenChecks = 4096;

class FilePaths {
 public:
  // The path without links, "." and "..". It need not exist.
  std::string resolve(const std::string& path) {
    const std::size_t slash = path.rfind('/');
    const std::string name = path.substr(slash + 1);  // npos + 1 is 0
    const Folder& folder = folder_at(slash == std::string::npos ? "."
                                     : slash == 0               ? "/"
                                                                : path.substr(0, slash));
    if (name == ".." || folder.links.count(name) > 0) {
      std::error_code error;
      const fs::path target = fs::weakly_canonical(path, error);
      if (!error) return target;
    }
    return folder.path + "/" + name;
  }

 private:
  struct Folder {
    std::string path;
    std::set<std::string> links;
  };

  const Folder& folder_at(const std::string& path) {
    const auto [found, is_new] = folders_.try_emplace(path);
    Folder& folder = found->second;
    if (!is_new) return folder;
    std::error_code error;  // reading the picture reports it later
    folder.path = fs::weakly_canonical(path, error);
    if (error) folder.path = path;
    fs::directory_iterator entry(path, error);
    for (; !error && entry != fs::directory_iterator(); entry.increment(error)) {
      std::error_code unknown;
      if (entry->is_symlink(unknown)) folder.links.insert(entry->path().filename());
    }
    return folder;
  }

  std::unordered_map<std::string, Folder> folders_;
};

}  // namespace

void require_different_files(const PictureListing& listing, const std::string& input, bool is_drawn,
                             const std::function<void()>& check) {
  FilePaths paths;
  const auto resolved = [&](std::uint32_t picture) {
    return paths.resolve(path_within(listing.root, listing.names[picture]));
  };
  std::vector<std::pair<std::uint64_t, std::uint32_t>> by_hash;  // because paths need more memory
  for (std::uint32_t i = 0; i < listing.names.size(); ++i) {
    if (i % kPathsBetweenChecks == 0) check();
    const std::string path = resolved(i);
    by_hash.emplace_back(hash64(path.data(), path.size()), i);
  }
  std::sort(by_hash.begin(), by_hash.end());
  for (std::size_t i = 1; i < by_hash.size(); ++i) {
    if (i % kPathsBetweenChecks == 0) check();
    const auto [hash, second] = by_hash[i];
    const auto [before, first] = by_hash[i - 1];
    const bool may_be_apart =
        is_drawn || (first < listing.train_count) != (second < listing.train_count);
    const std::string one(listing.names[first]);
    const std::string other(listing.names[second]);
    if (hash != before || !may_be_apart || one == other || resolved(first) != resolved(second)) {
      continue;
    }
    throw DataError(input + ": has one picture as " + one + " and as " + other + ", " +
                    (is_drawn ? "so it may be used for training and for testing"
                              : "for training and for testing") +
                    "; remove one of them");
  }
}

}  // namespace tandem::data
