// The files of a folder that cannot be packed, each with the reason.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "tandem/core/error.hpp"

namespace tandem::data {

struct BrokenFile {
  std::string path;
  std::string reason;  // a message without the path in front
};
inline bool operator<(const BrokenFile& a, const BrokenFile& b) { return a.path < b.path; }
using BrokenFiles = std::vector<BrokenFile>;

// A line "path<TAB>reason" for each file, with control characters escaped. `folder` precedes paths.
std::string list_of(const BrokenFiles& files, const std::string& folder = "");

// The files of the output of list_of().
BrokenFiles broken_files_of(const std::string& list);

class BrokenFilesError : public DataError {
 public:
  // The message is "FOLDER: N files cannot be packed" with `addition`, then up to 20 files and the
  // number of the others. An addition states why the other files are not enough.
  BrokenFilesError(const std::string& folder, BrokenFiles files, const std::string& addition = "");
  const BrokenFiles& files() const { return files_; }  // sorted by path
  const std::string& addition() const { return addition_; }

 private:
  BrokenFiles files_;
  std::string addition_;
};

// Calls `work`. Returns the reason why the file cannot be packed; empty if it can. Throws other
// errors, such as a lack of memory or a failing disk.
std::string fault_of(const std::string& path, const std::function<void()>& work);

}  // namespace tandem::data
