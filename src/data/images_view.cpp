#include "tandem/data/images_view.hpp"

#include <string_view>

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

const std::uint8_t* PixelsOf::operator()(std::size_t image) {
  if (!view_.is_encoded()) return view_.images.data() + image * view_.shape.pixels();
  const PicturePlace& place = view_.places[image];
  std::shared_ptr<const std::string> file;
  std::string_view bytes;
  if (view_.files) {
    file = view_.files->file_of(place);
    bytes = *file;
  } else {
    bytes = {reinterpret_cast<const char*>(view_.images.data()) + place.begin,
             place.end - place.begin};
  }
  room_.resize(view_.shape.pixels());
  MemoryBudget budget(kMemoryForPictures);
  fit_file(bytes, view_.where + ": picture " + std::to_string(place.number), view_.shape, budget,
           Orientation::kUpright, room_.data());
  return room_.data();
}

}  // namespace tandem::data
