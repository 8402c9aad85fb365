#include "tandem/data/images_view.hpp"

#include "picture_region.hpp"
#include "tandem/data/fit_picture.hpp"

namespace tandem::data {

ImagesView ImagesView::part(std::size_t first, std::size_t count) const {
  ImagesView some = *this;
  some.labels = labels.subspan(first, count);
  if (is_multi_label()) {
    const std::size_t classes = targets.size() / labels.size();
    some.targets = targets.subspan(first * classes, count * classes);
  }
  if (is_encoded()) {
    some.places = places.subspan(first, count);
  } else {
    some.images = images.subspan(first * shape.pixels(), count * shape.pixels());
  }
  return some;
}

Span<const std::uint8_t> ImagesView::targets_of(std::size_t image) const {
  const std::size_t classes = targets.size() / labels.size();
  return targets.subspan(image * classes, classes);
}

MemoryLayout::MemoryLayout(const DatasetInfo& info, bool has_files) {
  constexpr std::size_t kAligned = alignof(PicturePlace);
  const std::size_t images = info.train_count + info.test_count;
  const std::size_t of_files = has_files ? info.train_bytes + info.test_bytes : 0;
  const std::size_t bytes = info.is_encoded() ? of_files : images * info.shape.pixels();
  places = (bytes + kAligned - 1) / kAligned * kAligned;
  labels = places + (info.is_encoded() ? images * sizeof(PicturePlace) : 0);
  targets = labels + images * sizeof(Label);
  all = targets + (info.multi_label ? images * info.classes.size() : 0);
}

StoredPicture PixelsOf::file(std::size_t image) const {
  const PicturePlace& place = view_.places[image];
  StoredPicture found;
  found.where = view_.where + ": picture " + std::to_string(place.number);
  if (view_.files) {
    found.read = view_.files->file_of(place);
    found.bytes = *found.read;
  } else {
    found.bytes = {reinterpret_cast<const char*>(view_.images.data()) + place.begin,
                   place.end - place.begin};
  }
  return found;
}

const std::uint8_t* PixelsOf::operator()(std::size_t image) {
  if (!view_.is_encoded()) return view_.images.data() + image * view_.shape.pixels();
  room_.resize(view_.shape.pixels());
  const StoredPicture found = file(image);
  if (decoding_ == Decoding::kScaled) {
    const auto whole = [](int height, int width) { return Region{0, 0, height, width}; };
    RegionResizer resizer;
    make_region(found, whole, decoding_, view_.shape, resizer, room_.data());
  } else {
    MemoryBudget budget(kMemoryForPictures);
    fit_file(found.bytes, found.where, view_.shape, budget, {Orientation::kUpright, view_.fit},
             room_.data());
  }
  return room_.data();
}

}  // namespace tandem::data
