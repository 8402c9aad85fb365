#include "broken_files.hpp"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <utility>

#include "picture_decoder.hpp"
#include "tandem/core/text.hpp"

namespace tandem::data {
namespace {

constexpr std::size_t kMaxNamed = 20;

std::string message_about(const std::string& folder, const BrokenFiles& files,
                          const std::string& addition) {
  std::string message =
      folder + ": " + format_quantity(files.size(), "file") + " cannot be packed" + addition;
  const std::size_t named = std::min(files.size(), kMaxNamed);
  for (std::size_t i = 0; i < named; ++i) {
    message += "\n  " + escape_for_terminal(files[i].path + ": " + files[i].reason);
  }
  if (named == files.size()) return message;
  return message + "\n  and " + format_count(files.size() - named) + " more";
}

std::string reason_of(const Error& error, const std::string& path) {
  const std::string message = error.what();
  const std::string beginning = path + ": ";
  return begins_with(message, beginning) ? message.substr(beginning.size()) : message;
}

// Whether the file itself cannot be opened. A failing disk or network gives other errors.
bool is_unreadable(const std::string& path) {
  return ::access(path.c_str(), R_OK) != 0 &&
         (errno == EACCES || errno == ELOOP || errno == ENAMETOOLONG);
}

BrokenFiles sorted(BrokenFiles files) {
  std::sort(files.begin(), files.end());
  return files;
}

}  // namespace

std::string list_of(const BrokenFiles& files, const std::string& folder) {
  std::string text;
  for (const BrokenFile& file : files) {
    const std::string path = std::filesystem::path(folder) / file.path;
    text += escape_for_terminal(path) + "\t" + escape_for_terminal(file.reason) + "\n";
  }
  return text;
}

BrokenFiles broken_files_of(const std::string& list) {
  BrokenFiles files;
  for (const std::string& line : split(list, '\n')) {
    const std::size_t tab = line.find('\t');
    if (tab != std::string::npos) files.push_back({line.substr(0, tab), line.substr(tab + 1)});
  }
  return files;
}

BrokenFilesError::BrokenFilesError(const std::string& folder, BrokenFiles files,
                                   const std::string& addition)
    : DataError(message_about(folder, files = sorted(std::move(files)), addition)),
      files_(std::move(files)),
      addition_(addition) {}

std::string fault_of(const std::string& path, const std::function<void()>& work) {
  try {
    work();
    return "";
  } catch (const PictureMemoryError&) {
    throw;
  } catch (const DataError& error) {
    return reason_of(error, path);
  } catch (const MissingInputError& error) {  // a link to nothing
    return reason_of(error, path);
  } catch (const IoError& error) {  // a missing permission, or a link to itself
    if (!is_unreadable(path)) throw;
    return reason_of(error, path);
  }
}

}  // namespace tandem::data
