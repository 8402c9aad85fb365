#include "data_set_checks.hpp"

#include <algorithm>
#include <cmath>

#include "diagnose/doctor_judge.hpp"
#include "tandem/core/error.hpp"
#include "tandem/core/text.hpp"
#include "tandem/data/picture_reader.hpp"
#include "tandem/data/verify.hpp"

namespace tandem::app {
namespace {

// The options that let a rank's pictures fit into `kept` bytes. `share`: the rank's share of the
// lanes.
std::string smaller_order(const data::LaneOrder& lanes, double share, double kept) {
  const auto least = static_cast<double>(lanes.least_bytes_in_use()) * share;
  if (least <= kept) return "a smaller --shuffle-mb";
  return lanes.bytes_in_use() == lanes.least_bytes_in_use()
             ? "a smaller --read-lanes"
             : "a smaller --read-lanes and --shuffle-mb";
}

}  // namespace

void warn_of_data_set(const Job& job, const std::string& path, const train::ImageStore& images) {
  if (!images.info().sealed) job.warn(data::unsealed_warning(path));
  if (images.unshared_bytes() > 0) {
    job.warn(no_room_for_images(images.unshared_bytes(), true).text());
  } else if (!images.shared()) {
    job.warn(no_room_for_images(images.bytes(), false).text());
  }
}

void warn_of_cache(Job& job, const train::ImageStore& images, const data::LaneOrder* lanes,
                   std::uint64_t batch) {
  if (images.cache_bytes() == 0 || lanes == nullptr) return;
  const auto world = static_cast<std::uint64_t>(job.topology.world);
  const std::uint64_t of_rank = (lanes->lanes() + world - 1) / world;
  const std::uint64_t needed = lanes->bytes_in_use() / lanes->lanes() * of_rank;
  const std::uint64_t of_batch = batch * (images.info().train_bytes / images.info().train_count);
  const auto kept = static_cast<double>(data::PictureReader::kept_of(
      data::PictureBlocks::reserved_of(images.cache_bytes()), of_batch));
  const double share = job.world.all_reduce_value(
      needed > 0 ? kept / static_cast<double>(needed) : 1.0, comm::Reduction::kMin);
  const std::uint64_t enough = job.world.all_reduce_value<std::uint64_t>(
      data::PictureBlocks::min_bytes_for(data::PictureReader::share_for(needed, of_batch)) *
          static_cast<std::uint64_t>(job.topology.local_size),
      comm::Reduction::kMax);
  if (share >= 1) return;
  // A block is read again when pictures that the cache dropped are due. The cached bytes are
  // proportional to the time between two reads. Measured: 1.6 reads at an estimate of 1.55, 2.8 at
  // 3.1.
  const double held = share * static_cast<double>(needed);
  job.warn("the picture cache of a rank holds " + format_bytes(static_cast<std::uint64_t>(held)) +
           ", its " + format_quantity(of_rank, "lane") + " use " + format_bytes(needed) +
           " at a time, so the rank reads each block of the file " +
           (share > 0.02 ? "about " + format_fixed(1 / share, 1) + " times an epoch"
                         : "for almost every picture") +
           "; fix: --cache-mb " +
           format_fixed(std::ceil(static_cast<double>(enough) / train::kMebibyte), 0) +
           ", more ranks or hosts, or " +
           smaller_order(*lanes, static_cast<double>(of_rank) / static_cast<double>(lanes->lanes()),
                         held) +
           " for a new run");
}

void require_fit_for_views(const data::DatasetInfo& info) {
  if (info.multi_label) {
    throw UsageError("--tta is for sets with one label for each image, and " + info.name +
                     " is a multi-label set; leave it out");
  }
  if (std::min(info.shape.height, info.shape.width) < 2) {
    throw UsageError("--tta shifts images by a pixel, and those of " + info.name + " are " +
                     info.shape.text() + "; leave it out");
  }
}

}  // namespace tandem::app
