// An untrusted run folder: read, printed as JSON, and rendered as a page.
#include <filesystem>
#include <string>
#include <vector>

#include "input.hpp"
#include "memory_file.hpp"
#include "report/sections.hpp"
#include "tandem/metrics/run_record.hpp"
#include "tandem/report/run_table.hpp"
#include "target.hpp"

using namespace tandem;

namespace {

constexpr const char* kFiles[] = {"manifest.json", "summary.json", "evaluation.json",
                                  "metrics.jsonl", "config.ini",   "rank-0000.jsonl"};

// A folder of folders, because that is what `tandem runs` reads.
class Run {
 public:
  Run() : files_({std::begin(kFiles), std::end(kFiles)}) {
    namespace fs = std::filesystem;
    fs::create_directory(files_.path() + "/ranks");
    fs::rename(files_.path() + "/rank-0000.jsonl", files_.path() + "/ranks/rank-0000.jsonl");
  }
  fuzz::MemoryFile& file(std::size_t index) { return files_.file(index); }
  const std::string& path() const { return files_.path(); }

 private:
  fuzz::MemoryFolder files_;
};

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static Run run;
  const auto files = fuzz::split_files(fuzz::as_text(data, size), std::size(kFiles));
  for (std::size_t i = 0; i < files.size(); ++i) run.file(i).write(files[i]);
  fuzz::read_or_refuse([] {
    const metrics::RunRecord record = metrics::read_run(run.path());
    fuzz::require(!record.manifest.dump().empty() && !record.summary.dump().empty(),
                  "what is read can be printed");
    const std::string page = report::render_page(report::read_runs({record}), 0);
    fuzz::require(page.find("<script") == std::string::npos, "a page has no script");
  });
  return 0;
}
