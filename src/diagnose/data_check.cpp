#include "data_check.hpp"

#include "tandem/core/digest.hpp"
#include "tandem/core/error.hpp"
#include "tandem/core/file.hpp"
#include "tandem/core/json.hpp"
#include "tandem/data/packed_set.hpp"

namespace tandem::app {
namespace {

// The file of a path as one rank sees it.
struct FileView {
  std::string start;  // SHA-256 of the first bytes, which hold the seal's digest
  std::string digest;
  std::string error;
  std::uint64_t image_bytes = 0;
  std::uint64_t unread_bytes = 0;
};
TANDEM_JSON_STRUCT(FileView, start, digest, error, image_bytes, unread_bytes)

// Its beginning alone, which every rank can afford.
FileView glance_at(const std::string& path) {
  FileView view;
  try {
    view.start = sha256_hex(data::start_of_packed(path));
  } catch (const std::exception& error) {
    view.error = message_of(error);
  }
  return view;
}

FileView read_through(const std::string& path, const Touch& touch) {
  FileView view = glance_at(path);
  if (!view.error.empty()) return view;
  try {
    const data::PackedSet file(path, touch);
    const data::DatasetInfo& info = file.info();
    view.digest = info.digest.substr(0, 16);
    // Picture files may stay in the file.
    view.image_bytes = data::MemoryLayout(info, !info.is_encoded()).all;
    view.unread_bytes = info.train_bytes + info.test_bytes;  // 0 unless they are picture files
  } catch (const std::exception& error) {
    view.error = message_of(error);
  }
  return view;
}

// Of the first file that cannot be locked.
std::string lock_error_of_set(const std::string& files) {
  std::vector<std::string> paths;
  try {
    paths = data::packed_paths(files);
  } catch (const Error&) {  // named by data_error
  }
  for (const std::string& path : paths) {
    const std::string error = lock_error_of(path);
    if (!error.empty()) return paths.size() == 1 ? error : path + ": " + error;
  }
  return "";
}

}  // namespace

void look_at_data(Job& job, const std::string& path, RankFacts& facts, const Touch& touch) {
  FileView mine = job.node.rank() == 0 ? read_through(path, touch) : glance_at(path);
  const std::string text = dump_any_bytes(Json(mine));
  const auto first = Json::parse(job.node.broadcast_string(text)).get<FileView>();
  if (job.node.rank() != 0) mine = mine.start == first.start ? first : read_through(path, touch);
  facts.data_digest = mine.digest;
  facts.data_error = mine.error;
  facts.data_bytes = mine.image_bytes;
  facts.data_unread_bytes = mine.unread_bytes;
  facts.lock_error = lock_error_of_set(path);
}

}  // namespace tandem::app
