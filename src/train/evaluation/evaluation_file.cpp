#include "evaluation_file.hpp"

#include "tandem/core/digest.hpp"

namespace tandem::train {
namespace {

constexpr std::size_t kMaxPixels = 1'000'000;  // bytes of the worst images in evaluation.json

}  // namespace

Json make_evaluation_file(const Evaluation& evaluation, const ImageStore& store, data::Fit fit) {
  const data::DatasetInfo& info = store.info();
  Json file{{"step", evaluation.step},
            {"split", "test"},
            {"images", evaluation.images},
            {"test_loss", evaluation.loss}};
  if (evaluation.mean_average_precision) {
    file["test_map"] = *evaluation.mean_average_precision;
    file["classes"] = info.classes;
    file["class_images"] = evaluation.class_images;
    file["class_average_precision"] = evaluation.class_precision;
    return file;
  }
  const std::size_t classes = info.classes.size();
  Json confusion = Json::array();
  const std::size_t rows = evaluation.confusion.empty() ? 0 : classes;
  for (std::size_t label = 0; label < rows; ++label) {
    const auto row = evaluation.confusion.begin() + static_cast<std::ptrdiff_t>(label * classes);
    confusion.push_back(std::vector<std::int64_t>(row, row + static_cast<std::ptrdiff_t>(classes)));
  }
  data::ImagesView images = store.view(data::Split::kTest);
  images.fit = fit;
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
  file["test_accuracy"] = evaluation.accuracy;
  file["classes"] = info.classes;
  file["confusion"] = std::move(confusion);
  file["shape"] = {info.shape.channels, info.shape.height, info.shape.width};
  file["worst"] = std::move(worst);
  return file;
}

}  // namespace tandem::train
