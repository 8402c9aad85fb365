#include "tandem/data/probe.hpp"

#include "child_process.hpp"
#include "tandem/core/file.hpp"
#include "tandem/data/packed_file.hpp"
#include "tandem/data/user_block.hpp"

namespace tandem::data {

void probe_in_child(const std::string& path, std::chrono::seconds limit) {
  if (!is_unsealed(File::open_for_reading(path))) return;
  run_in_child(path, limit, [&] { PackedFile file(path); });
}

}  // namespace tandem::data
