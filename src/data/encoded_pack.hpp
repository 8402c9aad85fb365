// Packs picture files as they are. One call at a time. Throws as pack() does.
#pragma once

#include <functional>
#include <string>

#include "broken_files.hpp"
#include "encoded_source.hpp"
#include "tandem/core/file.hpp"
#include "tandem/data/pack.hpp"

namespace tandem::data {

struct EncodedPacked {
  DatasetInfo info;
  BrokenFiles skipped;  // with paths within the input, sorted
};

// Writes `output`, whose name is `path`, to its end, sealed. `check` is called between pictures and
// may throw to end the work.
EncodedPacked write_encoded(const PackRequest& request, EncodedSource& source, File& output,
                            const std::string& path, const std::function<void()>& check);

}  // namespace tandem::data
