#include "evaluation_file.hpp"

#include "tandem/core/digest.hpp"

namespace tandem::train {
namespace {

constexpr std::size_t kMaxPixels = 1'000'000;  // bytes of the worst images in evaluation.json

}  // namespace

Json make_evaluation_file(const Evaluation& evaluation, const ImageStore& store, data::Fit fit) {
  const data::DatasetInfo& info = store.info();
  data::ImagesView images = store.view(data::Split::kTest);
  images.fit = fit;
  const std::size_t classes = info.classes.size();
  Json confusion = Json::array();
  const std::size_t rows = evaluation.confusion.empty() ? 0 : classes;
  for (std::size_t label = 0; label < rows; ++label) {
    const auto row = evaluation.confusion.begin() + static_cast<std::ptrdiff_t>(label * classes);
    confusion.push_back(std::vector<std::int64_t>(row, row + static_cast<std::ptrdiff_t>(classes)));
  }
  if (evaluation.mean_average_precision) {
    return {{"step", evaluation.step},
            {"split", "test"},
            {"images", evaluation.images},
            {"test_loss", evaluation.loss},
            {"test_map", *evaluation.mean_average_precision},
            {"classes", info.classes},
            {"class_images", evaluation.class_images},
            {"class_average_precision", evaluation.class_precision}};
  }
  Json worst = Json::array();
  std::size_t bytes = 0;
  data::PixelsOf pixels_of(images);
  for (const ImageLoss& image : evaluation.worst) {
    const std::size_t size = images.shape.pixels();
    bytes += size;
    const bool has_room = bytes <= kMaxPixels;
    worst.push_back(
        {{"index", image.image},
         {"label", images.labels[image.image]},
         {"predicted", image.predicted},
         {"loss", image.loss},
         {"pixels", has_room
                        ? to_base64({reinterpret_cast<const char*>(pixels_of(image.image)), size})
                        : ""}});
  }
  return {{"step", evaluation.step},
          {"split", "test"},
          {"images", evaluation.images},
          {"test_loss", evaluation.loss},
          {"test_accuracy", evaluation.accuracy},
          {"classes", info.classes},
          {"confusion", confusion},
          {"shape", {info.shape.channels, info.shape.height, info.shape.width}},
          {"worst", worst}};
}

}  // namespace tandem::train
