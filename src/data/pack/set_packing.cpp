#include "tandem/data/set_packing.hpp"

#include <algorithm>
#include <mutex>
#include <set>
#include <utility>

#include "data/parallel.hpp"
#include "data/picture_sources/encoded_source.hpp"
#include "data/picture_sources/listing_builder.hpp"
#include "data/pictures/broken_files.hpp"
#include "encoded_pack.hpp"
#include "pack_output.hpp"
#include "pack_source.hpp"
#include "tandem/core/cgroup.hpp"
#include "tandem/core/digest.hpp"
#include "tandem/core/error.hpp"
#include "tandem/core/file.hpp"
#include "tandem/core/stop_signal.hpp"
#include "tandem/core/text.hpp"
#include "tandem/data/packed_file.hpp"
#include "tandem/data/packed_set.hpp"

namespace tandem::data {
namespace {

// Each part needs a writer's memory and thread.
constexpr int kMostPartsAtOnce = 4;
constexpr std::size_t kStampsAtOnce = 4096;
constexpr int kStampThreads = 8;  // they wait for a file system
constexpr std::size_t kDigits = 3;

// The position of a part's number in the name of the output.
std::size_t number_place(const std::string& output) {
  return ends_with(output, ".h5") ? output.size() - 3 : output.size();
}

// All options that affect the bytes of the parts.
std::string options_text(const PackRequest& request, const EncodedSource& source) {
  const DatasetInfo& info = source.info();
  std::string text = "tandem set 1\n";
  const auto add = [&](const std::string& name, const std::string& value) {
    text += name + " " + value + "\n";
  };
  add("name", request.name.empty() ? info.name : request.name);
  add("files", std::to_string(request.files));
  add("size", std::to_string(request.height) + "x" + std::to_string(request.width));
  add("channels", std::to_string(request.channels));
  add("check", request.picture_check == PictureCheck::kDecode ? "decode" : "structure");
  add("labels", info.multi_label ? "any number" : "one");
  add("source", source.source_sha256({}));  // of drawn pictures: their parameters
  for (const std::string& name : info.classes) add("class", name);
  return text;
}

// Refuses files with numbers above those of this set, because the pattern would match them.
void require_no_other_parts(const PackRequest& request) {
  for (std::uint64_t part = request.files + 1; part <= kMaxParts; ++part) {
    const std::string path = part_path(request.output, part);
    if (!output_exists(path)) continue;
    throw CannotCreateError(path + ": exists already and is not one of the " +
                            format_quantity(request.files, "file") + " to write, but " +
                            pattern_of_parts(request.output) +
                            " matches it; remove it, or choose another --output");
  }
}

// The addition to the message about broken files if a class has only such files for training.
std::string lack_of_class(const EncodedSource& source, const BrokenFiles& broken) {
  if (source.info().multi_label) return "";
  std::set<std::string> paths;
  for (const BrokenFile& file : broken) paths.insert(file.path);
  const std::vector<std::string>& classes = source.info().classes;
  std::vector<bool> is_given(classes.size()), is_there(classes.size());
  for (std::uint64_t i = 0; i < source.info().train_count; ++i) {
    const Label label = source.labels(Split::kTrain, i).front();
    is_given[label] = true;
    is_there[label] =
        is_there[label] || paths.count(escape_for_terminal(source.where(Split::kTrain, i))) == 0;
  }
  for (std::size_t i = 0; i < classes.size(); ++i) {
    if (is_given[i] && !is_there[i]) {
      return ", and class " + classes[i] + " has no other for training";
    }
  }
  return "";
}

std::string text_of(const std::vector<Label>& labels) {
  std::vector<std::string> numbers;
  for (const Label label : labels) numbers.push_back(std::to_string(label));
  return join(numbers, ",");
}

SetPacking::Packed pack_part(const PackRequest& request, EncodedSource& source,
                             const PackPart& part, const std::function<void()>& check) try {
  SetPacking::Packed packed;
  packed.turned_pictures = pack_encoded(request, source, part, check).turned_pictures;
  return packed;
} catch (const BrokenFilesError& error) {
  return {list_of(error.files()), error.addition(), 0};
}

}  // namespace

std::string part_path(const std::string& output, std::uint64_t part) {
  std::string digits = std::to_string(part);
  if (digits.size() < kDigits) digits.insert(0, kDigits - digits.size(), '0');
  std::string path = output;
  return path.insert(number_place(output), "-" + digits);
}

std::string pattern_of_parts(const std::string& output) {
  std::string path = output;
  return path.insert(number_place(output), "-*");
}

void SetPacking::Packed::add(const Packed& other) {
  broken += other.broken;
  if (addition.empty()) addition = other.addition;
  turned_pictures += other.turned_pictures;
}

struct SetPacking::Work {
  const InterruptGuard interrupts{
      "the files that are complete are kept, and the same command packs the others"};
  const PackRequest request;
  const std::function<void()> check = [this] {
    interrupts.check();
    call(request.touch);
  };
  std::unique_ptr<EncodedSource> source;
  std::string set_id;
  std::vector<std::int64_t> newest;  // by part: last change of any of its pictures

  explicit Work(PackRequest given) : request(std::move(given)) {
    require_packable_name(request.name);
    require_replaceable_list(broken_list_path(request.output));
    require_no_other_parts(request);
    source = open_encoded_source(request, check);
    const DatasetInfo& info = source->info();
    const std::uint64_t most = std::min(info.train_count, info.test_count);
    if (request.files > most) {
      throw UsageError("--files: " + std::to_string(request.files) + " files of " +
                       format_quantity(info.train_count, "training picture") + " and " +
                       format_quantity(info.test_count, "test picture") +
                       ", but each file needs at least one of both; give at most " +
                       std::to_string(most));
    }
    look_at_pictures();
  }

  std::uint64_t pictures_of(const std::vector<std::uint64_t>& parts) const {
    std::uint64_t pictures = 0;
    for (const std::uint64_t part : parts) {
      for (const Split split : {Split::kTrain, Split::kTest}) {
        const OrderRange range = range_of_part(source->info().count(split), part, request.files);
        pictures += range.end - range.begin;
      }
    }
    return pictures;
  }

  void look_at_pictures() {
    newest.assign(request.files, 0);
    Sha256 digest;
    const std::string options = options_text(request, *source);
    digest.update(options.data(), options.size());
    for (const Split split : {Split::kTrain, Split::kTest}) {
      const std::vector<std::uint32_t> order = packing_order(request, *source, split);
      for (std::uint64_t part = 1; part <= request.files; ++part) {
        const OrderRange range = range_of_part(order.size(), part, request.files);
        for (std::uint64_t at = range.begin; at < range.end; at += kStampsAtOnce) {
          check();
          const std::uint64_t end = std::min<std::uint64_t>(at + kStampsAtOnce, range.end);
          add_pictures(split,
                       {order.begin() + static_cast<std::ptrdiff_t>(at),
                        order.begin() + static_cast<std::ptrdiff_t>(end)},
                       newest[part - 1], digest);
        }
      }
    }
    set_id = digest.finish();
  }

  void add_pictures(Split split, const std::vector<std::uint32_t>& pictures, std::int64_t& last,
                    Sha256& digest) const {
    std::vector<PictureStamp> stamps(pictures.size());
    for_each_index(pictures.size(), kStampThreads,
                   [&](std::size_t i) { stamps[i] = source->stamp(split, pictures[i]); });
    for (std::size_t i = 0; i < pictures.size(); ++i) {
      const std::string line =
          std::to_string(index_of(split)) + " " + text_of(source->labels(split, pictures[i])) +
          " " + std::to_string(stamps[i].bytes) + " " +
          name_within(source->root(), source->where(split, pictures[i])) + "\n";
      digest.update(line.data(), line.size());
      last = std::max(last, stamps[i].written_ns);
    }
  }

  // Whether this list of the first part has all faults of the source, such as a row without a
  // label.
  bool lists_faults_of_source(const std::string& list) const {
    const BrokenFiles& faults = source->broken();
    return std::all_of(faults.begin(), faults.end(), [&](const BrokenFile& fault) {
      return ("\n" + list).find("\n" + list_of({fault})) != std::string::npos;
    });
  }

  bool is_complete(std::uint64_t part) const try {
    const std::string path = part_path(request.output, part);
    if (!is_regular_file(path)) return false;
    const PackedFile file(path, check);
    const DatasetInfo& info = file.info();
    if (info.set_id != set_id || info.part != part || info.parts != request.files) return false;
    if (stamp_of(path).written_ns < newest[part - 1]) return false;
    const std::string list = broken_list_path(path);
    if (info.broken_files > 0 && !(request.skip_broken && is_broken_list(list))) return false;
    if (part == 1 && !lists_faults_of_source(read_broken_list(list))) return false;
    file.prove_pictures();
    return true;
  } catch (const DataError&) {  // damaged; it is packed again
    return false;
  }
};

SetPacking::SetPacking(PackRequest request) : work_(std::make_unique<Work>(std::move(request))) {}
SetPacking::~SetPacking() = default;

const std::string& SetPacking::set_id() const { return work_->set_id; }

std::vector<std::uint64_t> SetPacking::missing_parts() const {
  std::vector<std::uint64_t> missing;
  for (std::uint64_t part = 1; part <= work_->request.files; ++part) {
    work_->check();
    if (!work_->is_complete(part)) missing.push_back(part);
  }
  return missing;
}

SetPacking::Packed SetPacking::pack(const std::vector<std::uint64_t>& parts) {
  const Work& work = *work_;
  const int threads = work.request.threads > 0 ? work.request.threads : usable_cpus();
  const auto count = std::max(static_cast<int>(parts.size()), 1);
  const int at_once = std::min({threads, count, kMostPartsAtOnce});
  const std::uint64_t all = work.pictures_of(parts);
  std::mutex mutex;  // guards the two below, and calls of on_progress
  std::uint64_t done = 0;
  Packed packed;
  std::mutex hdf5;
  const auto on_progress = [&](std::uint64_t /*done*/, std::uint64_t /*all*/) {
    const std::lock_guard<std::mutex> lock(mutex);
    ++done;
    if (work.request.on_progress) work.request.on_progress(done, all);
  };
  for_each_index(parts.size(), at_once, [&](std::size_t i) {
    PackRequest request = work.request;
    request.output = part_path(work.request.output, parts[i]);
    request.on_progress = on_progress;
    const PackPart part{parts[i], work.request.files, work.set_id, at_once, &hdf5};
    const Packed result = pack_part(request, *work.source, part, work.check);
    const std::lock_guard<std::mutex> lock(mutex);
    packed.add(result);
  });
  return packed;
}

DatasetInfo SetPacking::finish(const Packed& packed) const {
  const Work& work = *work_;
  const PackRequest& request = work.request;
  BrokenFiles broken = broken_files_of(packed.broken);
  if (!broken.empty() || !packed.addition.empty()) {
    const bool may_skip = !request.skip_broken && packed.addition.empty();
    throw_listed(request, BrokenFilesError(
                              request.input, broken,
                              may_skip ? lack_of_class(*work.source, broken) : packed.addition));
  }
  std::vector<std::string> paths;
  std::string skipped;
  for (std::uint64_t part = 1; part <= request.files; ++part) {
    paths.push_back(part_path(request.output, part));
    skipped += read_broken_list(broken_list_path(paths.back()));
  }
  BrokenFiles sorted = broken_files_of(skipped);
  std::sort(sorted.begin(), sorted.end());
  replace_broken_list(broken_list_path(request.output), list_of(sorted));
  const std::string lack = lack_of_class(*work.source, sorted);
  if (!lack.empty()) throw BrokenFilesError(request.input, sorted, lack);
  const PackedSet set(paths, work_->request.touch);
  DatasetInfo info = set.info();
  info.turned_pictures = packed.turned_pictures;
  return info;
}

}  // namespace tandem::data
