#include <algorithm>
#include <filesystem>
#include <memory>
#include <new>
#include <utility>
#include <vector>

#include "data/files/file_pattern.hpp"
#include "data/pictures/picture_decoder.hpp"
#include "encoded_source.hpp"
#include "listing_builder.hpp"
#include "tandem/core/error.hpp"
#include "tandem/core/text.hpp"
#include "tandem/data/image_file.hpp"
#include "tar_samples.hpp"

namespace tandem::data {
namespace {

constexpr std::uint64_t kSamplesBetweenChecks = 4096;
// With more archives, each picture opens its archive, because a process may have only 1,024 open
// files.
constexpr std::size_t kMostOpenFiles = 256;

// The archives, and the offset of each picture in them.
class TarPictures {
 public:
  explicit TarPictures(std::vector<std::string> paths) : paths_(std::move(paths)) {
    for (const std::string& path : paths_) written_.push_back(stamp_of(path).written_ns);
    if (paths_.size() > kMostOpenFiles) return;
    for (const std::string& path : paths_) files_.push_back(File::open_for_reading(path));
  }

  const std::vector<std::string>& paths() const { return paths_; }
  PictureStamp stamp(std::uint32_t picture) const {
    return {places_[picture].bytes, written_[places_[picture].archive]};
  }
  void add(std::size_t archive, const TarSample& sample) {
    places_.push_back({sample.offset, static_cast<std::uint32_t>(sample.bytes),
                       static_cast<std::uint32_t>(archive)});
  }

  std::string read(std::uint32_t picture, const std::string& where,
                   const BeforeTaking& before) const try {
    const Place& place = places_[picture];
    if (before) before(place.bytes);
    std::string bytes(place.bytes, '\0');
    const std::size_t got =
        files_.empty() ? File::open_for_reading(paths_[place.archive])
                             .read_at(place.offset, bytes.data(), bytes.size())
                       : files_[place.archive].read_at(place.offset, bytes.data(), bytes.size());
    if (got == bytes.size()) return bytes;
    throw IoError(where +
                  ": the archive is shorter than when packing began; start again once it "
                  "is complete");
  } catch (const std::bad_alloc&) {
    throw_out_of_memory(where);
  }

 private:
  struct Place {
    std::uint64_t offset;
    std::uint32_t bytes;
    std::uint32_t archive;
  };

  const std::vector<std::string> paths_;
  std::vector<std::int64_t> written_;
  std::vector<File> files_;
  std::vector<Place> places_;
};

void add_samples(const std::string& root, std::size_t archive, const std::function<void()>& check,
                 TarPictures& places, ListingBuilder& pictures) {
  const std::string& path = places.paths()[archive];
  const File file = File::open_for_reading(path);
  TarSamples samples(file);
  TarSample sample;
  const std::string inside = name_within(root, path);
  for (std::uint64_t i = 0; samples.next(sample); ++i) {
    if (i % kSamplesBetweenChecks == 0) check();
    const std::string name = inside + "/" + sample.name;
    if (sample.bytes > kMaxPictureBytes) {
      sample.fault = "has " + format_bytes(sample.bytes) +
                     ", a picture of at most 268 MB was expected; make it smaller";
    }
    if (!sample.fault.empty()) {
      pictures.add_broken(name, sample.fault);
    } else if (pictures.add(name, sample.label)) {
      places.add(archive, sample);
    }
  }
}

// "imagenet-train" of "shards/imagenet-train-000.tar".
std::string name_of(const std::string& path) {
  const std::string stem = std::filesystem::path(path).stem().string();
  const std::size_t end = stem.find_last_not_of("0123456789-_.");
  return end == std::string::npos ? stem : stem.substr(0, end + 1);
}

}  // namespace

std::unique_ptr<EncodedSource> open_encoded_tar(const std::string& input,
                                                const EncodedListOptions& options) {
  std::vector<std::string> paths = files_of_pattern(input);
  const std::size_t training = paths.size();
  if (!options.test_input.empty()) {
    for (std::string& path : files_of_pattern(options.test_input)) paths.push_back(std::move(path));
  }
  std::transform(paths.begin(), paths.end(), paths.begin(), with_single_slashes);
  const std::string root = common_folder(paths);
  ListingBuilder pictures(input, root, options);
  const auto places = std::make_shared<TarPictures>(std::move(paths));
  for (std::size_t i = 0; i < places->paths().size(); ++i) {
    if (i == training) pictures.begin_test();
    add_samples(root, i, options.check, *places, pictures);
  }
  return pictures.finish(
      name_of(places->paths().front()),
      [places](std::uint32_t picture, const std::string& where, const BeforeTaking& before) {
        return places->read(picture, where, before);
      },
      [places](std::uint32_t picture, const std::string& /*where*/) {
        return places->stamp(picture);
      });
}

bool looks_like_tar(const std::string& input) {
  if (is_file_pattern(input)) return input.find(".tar") != std::string::npos;
  if (!is_regular_file(input)) return false;
  const File file = File::open_for_reading(input);
  constexpr std::size_t kMagicAt = 257;
  std::string magic(5, '\0');
  magic.resize(file.read_at(kMagicAt, magic.data(), magic.size()));
  return magic == "ustar" || ends_with(input, ".tar");
}

}  // namespace tandem::data
