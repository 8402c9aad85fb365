#include "encoded_pack.hpp"

#include <algorithm>
#include <array>
#include <numeric>
#include <utility>
#include <vector>

#include "data/picture_sources/listing_builder.hpp"
#include "data/pictures/broken_files.hpp"
#include "data/pictures/moments.hpp"
#include "data/pictures/picture_structure.hpp"
#include "pack_output.hpp"
#include "picture_stream.hpp"
#include "tandem/core/cgroup.hpp"
#include "tandem/core/error.hpp"
#include "tandem/core/file.hpp"
#include "tandem/core/random.hpp"
#include "tandem/core/text.hpp"
#include "tandem/data/fit_picture.hpp"
#include "tandem/data/image_file.hpp"
#include "version2_writer.hpp"

namespace tandem::data {
namespace {

// Limit for files that were read and not yet written, and for pictures in decoding. A single larger
// picture passes alone.
constexpr std::uint64_t kMostBytes = std::uint64_t{96} << 20;
constexpr std::uint64_t kMostDecoded = std::uint64_t{128} << 20;
// Threads that only read wait for the disk.
constexpr int kFewestReaders = 4;
constexpr std::uint64_t kOrderStream = std::uint64_t{1} << 32;  // apart from epochs and labels

const char* purpose_of(Split split) { return split == Split::kTrain ? "training" : "testing"; }

class EncodedPack {
 public:
  EncodedPack(const PackRequest& request, EncodedSource& source, const PackPart& part,
              AtomicFile& output, const std::function<void()>& check)
      : request_(request),
        source_(source),
        part_(part),
        check_(check),
        writer_(output.file(), output.temporary_path(), Store::kEncoded, part.hdf5),
        budget_(kMostDecoded / static_cast<std::uint64_t>(part.at_once)),
        turns_(static_cast<std::uint64_t>(threads())),
        broken_(part.part > 1 ? BrokenFiles() : source.broken()),
        train_per_class_(source.info().classes.size()),
        given_per_class_(source.info().classes.size()) {}

  DatasetInfo run() {
    for (const Split split : {Split::kTrain, Split::kTest}) write_split(split);
    std::sort(broken_.begin(), broken_.end());
    require_every_class();
    require_labels();
    if (!broken_.empty() && !request_.skip_broken) throw BrokenFilesError(root(), broken_);
    writer_.finish_pictures();
    DatasetInfo info = source_.info();
    if (!request_.name.empty()) info.name = request_.name;
    info.shape = shape();
    info.part = part_.part;
    info.parts = part_.parts;
    info.set_id = part_.set_id;
    info.turned_pictures = turned_;
    info.source_sha256 = source_.source_sha256(packed_);
    find_moments(info);
    BrokenFiles skipped = broken_;
    for (BrokenFile& file : skipped) file.path = name_within(root(), file.path);
    writer_.finish(info, skipped);
    return info;
  }

  const BrokenFiles& broken() const { return broken_; }  // sorted, once run() has returned

 private:
  const std::string& root() const { return source_.root(); }

  int threads() const {
    const int cpus = usable_cpus();
    const int all = request_.threads > 0 ? request_.threads
                    : request_.picture_check == PictureCheck::kDecode
                        ? cpus
                        : std::max(cpus, kFewestReaders);
    return std::max(all / part_.at_once, 1);
  }

  // Twice as many threads as decode, so that some read files while others decode.
  int readers() const {
    return request_.picture_check == PictureCheck::kDecode ? 2 * threads() : threads();
  }

  // The pictures of this part.
  std::vector<std::uint32_t> order_of(Split split) const {
    std::vector<std::uint32_t> order = packing_order(request_, source_, split);
    const OrderRange range = range_of_part(order.size(), part_.part, part_.parts);
    order.erase(order.begin() + static_cast<std::ptrdiff_t>(range.end), order.end());
    order.erase(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(range.begin));
    return order;
  }

  void write_split(Split split) {
    const DatasetInfo& info = source_.info();
    const std::vector<std::uint32_t> order = order_of(split);
    PictureStream pictures(order.size(), readers(),
                           kMostBytes / static_cast<std::uint64_t>(part_.at_once),
                           [&](std::uint64_t index, const BeforeTaking& before) {
                             return make(split, order[index], before);
                           });
    for (const std::uint32_t index : order) {
      check_();
      const ReadPicture picture = pictures.next();
      const std::vector<Label> labels = source_.labels(split, index);
      if (split == Split::kTrain) {
        for (const Label label : labels) ++given_per_class_[label];
      }
      ++done_;
      if (request_.on_progress) request_.on_progress(done_, info.train_count + info.test_count);
      if (!picture.fault.empty()) {
        broken_.push_back({source_.where(split, index), picture.fault});
        continue;
      }
      ++whole_[index_of(split)];
      if (!labels.empty()) is_labelled_[index_of(split)] = true;
      if (picture.has_color && !has_color_) {
        has_color_ = true;
        require_packable_shape(shape());
      }
      turned_ += picture.is_turned ? 1 : 0;
      if (split == Split::kTrain) {
        for (const Label label : labels) ++train_per_class_[label];
      }
      if (!broken_.empty() && !request_.skip_broken) continue;  // only the list is made
      writer_.add(
          split,
          {reinterpret_cast<const std::uint8_t*>(picture.bytes.data()), picture.bytes.size()},
          labels);
      packed_[index_of(split)].push_back(index);
    }
  }

  // On several threads.
  ReadPicture make(Split split, std::uint64_t index, const BeforeTaking& before) {
    ReadPicture picture;
    const std::string where = source_.where(split, index);
    picture.fault = fault_of(where, [&] {
      picture.bytes = source_.read(split, index, before);
      const PictureExtent extent = request_.picture_check == PictureCheck::kDecode
                                       ? decode(picture.bytes, where)
                                       : check_picture_structure(picture.bytes, where);
      picture.has_color = extent.has_color;
      picture.is_turned = extent.orientation != 1;
    });
    if (!picture.fault.empty()) picture.bytes.clear();
    return picture;
  }

  PictureExtent decode(const std::string& bytes, const std::string& where) {
    MemoryBudget::Share turn(turns_);
    turn.take(1);
    MemoryBudget::Share share(budget_);
    return prove_decodable(bytes, where, kMaxPicturePixels,
                           [&](std::uint64_t memory) { share.take(memory); });
  }

  // The broken files may have been all files of a class or of the test set.
  void require_every_class() const {
    const bool is_checked = part_.parts == 0 && !source_.info().multi_label;
    for (std::size_t i = 0; is_checked && i < train_per_class_.size(); ++i) {
      if (train_per_class_[i] > 0) continue;
      if (given_per_class_[i] == 0 && source_.may_lack_pictures()) continue;
      throw BrokenFilesError(
          root(), broken_,
          ", and class " + source_.info().classes[i] + " has no other for training");
    }
    for (const Split split : {Split::kTrain, Split::kTest}) {
      if (whole_[index_of(split)] > 0) continue;
      throw BrokenFilesError(root(), broken_,
                             std::string(", and there is no other for ") + purpose_of(split) +
                                 (part_.parts == 0 ? "" : " in " + request_.output));
    }
  }

  // A part of a multi-label set may have no label.
  void require_labels() const {
    for (const Split split : {Split::kTrain, Split::kTest}) {
      if (part_.parts > 0 || is_labelled_[index_of(split)]) continue;
      const std::string fault = std::string(" for ") + purpose_of(split) + " has a label";
      if (!broken_.empty()) throw BrokenFilesError(root(), broken_, ", and no other" + fault);
      throw DataError(request_.input + ": no picture" + fault + "; give some of them labels");
    }
  }

  ImageShape shape() const {
    const int height = request_.height > 0 ? request_.height : kDefaultPictureSide;
    const int width = request_.width > 0 ? request_.width : kDefaultPictureSide;
    const int channels = request_.channels > 0 ? request_.channels : has_color_ ? 3 : 1;
    return {channels, height, width};
  }

  void find_moments(DatasetInfo& info) {
    const auto read = [&](std::uint64_t index, std::uint8_t* image) {
      check_();
      const std::string where = "picture " + std::to_string(index);
      return fault_of(where,
                      [&] {
                        fit_file(writer_.read(Split::kTrain, index), where, info.shape, budget_, {},
                                 image);
                      })
          .empty();
    };
    const std::uint64_t count = writer_.count(Split::kTrain);
    const auto moments = sample_moments(count, info.shape, threads(), read);
    if (!moments) {
      throw DataError(request_.input + ": of " + format_quantity(count, "training picture") +
                      " none of a sample can be decoded; pack with --check decode, which lists "
                      "what is wrong");
    }
    info.mean = moments->mean();
    info.std = moments->std();
  }

  const PackRequest& request_;
  EncodedSource& source_;
  const PackPart& part_;
  const std::function<void()>& check_;
  Version2Writer writer_;
  MemoryBudget budget_;
  MemoryBudget turns_;  // limits how many pictures are decoded at a time, not bytes
  BrokenFiles broken_;
  PictureNumbers packed_;
  std::array<std::uint64_t, 2> whole_{};        // pictures of each split that can be packed
  std::array<bool, 2> is_labelled_{};           // one of them has a label
  std::vector<std::uint64_t> train_per_class_;  // likewise
  std::vector<std::uint64_t> given_per_class_;  // of the source
  std::uint64_t done_ = 0;
  std::uint64_t turned_ = 0;
  bool has_color_ = false;
};

}  // namespace

std::vector<std::uint32_t> packing_order(const PackRequest& request, const EncodedSource& source,
                                         Split split) {
  const auto count = static_cast<std::uint32_t>(source.info().count(split));
  if (!request.keep_order) {
    return permutation(count, request.seed, kOrderStream + static_cast<std::uint64_t>(split));
  }
  std::vector<std::uint32_t> order(count);
  std::iota(order.begin(), order.end(), 0U);
  return order;
}

OrderRange range_of_part(std::uint64_t count, std::uint64_t part, std::uint64_t parts) {
  if (parts == 0) return {0, count};
  return {count * (part - 1) / parts, count * part / parts};
}

DatasetInfo pack_encoded(const PackRequest& request, EncodedSource& source, const PackPart& part,
                         const std::function<void()>& check) {
  require_packable_shape(
      {std::max(request.channels, 1), std::max(request.height, 1), std::max(request.width, 1)});
  if (std::max(source.info().train_count, source.info().test_count) > kMaxImages) {
    throw DataError(request.input + ": holds more than 10,000,000 pictures of a split");
  }
  require_replaceable(request.output);
  AtomicFile output(request.output);
  EncodedPack packing(request, source, part, output, check);
  DatasetInfo info = packing.run();
  require_variation(info, request.input);
  check();
  publish(output, request.output, list_of(packing.broken()));
  return info;
}

}  // namespace tandem::data
