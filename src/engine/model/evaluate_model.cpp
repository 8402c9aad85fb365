// The engine of tandem eval: exact loss and accuracy of a trained model on any number of ranks.
#include <utility>

#include "engine/compute.hpp"
#include "engine/data_set_checks.hpp"
#include "engine/entry.hpp"
#include "model_file.hpp"
#include "session/device_choice.hpp"
#include "tandem/comm/agree.hpp"
#include "tandem/core/error.hpp"
#include "tandem/core/json.hpp"
#include "tandem/core/print.hpp"
#include "tandem/core/text.hpp"
#include "tandem/train/evaluator.hpp"
#include "tandem/train/image_store.hpp"
#include "tandem/train/parameter_arena.hpp"
#include "tandem/train/replicate.hpp"

namespace tandem::app {
namespace {

// Classes too: the same number in another order would give a confident figure that means nothing.
void require_fit(const ModelDescription& model, const data::DatasetInfo& data) {
  if (model.multi_label != data.multi_label) {
    const auto answers = [](bool multi_label) {
      return multi_label ? "any number of labels" : "one label";
    };
    throw DataError(std::string("--checkpoint: the model gives an image ") +
                    answers(model.multi_label) + ", trained on " + model.dataset + "; images of " +
                    data.name + " have " + answers(data.multi_label) +
                    "; evaluate it on the data it was made for");
  }
  if (model.shape == data.shape && model.classes == data.classes) return;
  throw DataError("--checkpoint: the model takes images of " + model.shape.text() +
                  " and knows the classes " + join(model.classes, ", ") + "; " + data.name +
                  " has images of " + data.shape.text() + " and the classes " +
                  join(data.classes, ", ") + "; evaluate it on the data it was made for");
}

struct DescribedNetwork {
  ModelFile file;
  NetworkFile network;
};

// Only rank 0 needs the files; the others build the network that they describe and receive the
// weights.
DescribedNetwork read_on_rank_0(Job& job, const std::string& checkpoint) {
  DescribedNetwork trained;
  std::string metadata;
  comm::agree_on_rank_0(job.world, [&] {
    trained.file = read_model_file(checkpoint, [&] { job.touch(); });
    trained.network = network_file_of(trained.file);
    note_which_file(checkpoint, trained.file);
    metadata = Json(trained.file.description.to_metadata()).dump();
  });
  metadata = job.world.broadcast_string(metadata);
  trained.network.bytes = job.world.broadcast_string(std::move(trained.network.bytes));
  if (!job.is_root()) {
    trained.file.description = ModelDescription::from_metadata(
        Json::parse(metadata).get<std::map<std::string, std::string>>(), checkpoint);
    trained.network.path = kNetworkFile;
  }
  return trained;
}

Json precision_to_json(const train::Evaluation& result, const data::DatasetInfo& info) {
  Json images = Json::object();
  Json precisions = Json::object();
  for (std::size_t i = 0; i < info.classes.size(); ++i) {
    images[info.classes[i]] = result.class_images[i];
    precisions[info.classes[i]] = result.class_precision[i];  // NaN becomes null
  }
  return {{"test_loss", result.loss},
          {"test_map", *result.mean_average_precision},
          {"images", result.images},
          {"class_images", images},
          {"class_average_precision", precisions},
          {"seconds", result.seconds}};
}

std::string precision_to_text(const train::Evaluation& result, const data::DatasetInfo& info) {
  std::vector<std::vector<std::string>> rows{{"class", "images", "average precision"}};
  for (std::size_t i = 0; i < info.classes.size(); ++i) {
    const std::int64_t images = result.class_images[i];
    rows.push_back({info.classes[i], std::to_string(images),
                    images > 0 ? format_fixed(result.class_precision[i], 4) : "-"});
  }
  return format_table(rows) + "\n\ntest loss " + format_real(result.loss) + "  test mAP " +
         format_real(*result.mean_average_precision) + "\n" + format_count(result.images) +
         " images, every image exactly once, " + format_fixed(result.seconds, 1) + " s";
}

Json to_json(const train::Evaluation& result, const data::DatasetInfo& info) {
  if (result.mean_average_precision) return precision_to_json(result, info);
  Json classes = Json::object();
  for (std::size_t i = 0; i < info.classes.size(); ++i) {
    const auto images = static_cast<double>(result.class_images[i]);
    classes[info.classes[i]] =
        images > 0 ? Json(static_cast<double>(result.class_correct[i]) / images) : Json(nullptr);
  }
  const Json views = result.views_accuracy ? Json(*result.views_accuracy) : Json();
  const Json top5 = result.top5_accuracy ? Json(*result.top5_accuracy) : Json();
  return {{"test_loss", result.loss},   {"test_accuracy", result.accuracy},
          {"correct", result.correct},  {"images", result.images},
          {"class_accuracy", classes},  {"test_accuracy_tta", views},
          {"test_accuracy_top5", top5}, {"seconds", result.seconds}};
}

std::string to_text(const train::Evaluation& result, const data::DatasetInfo& info) {
  if (result.mean_average_precision) return precision_to_text(result, info);
  std::vector<std::vector<std::string>> rows{{"class", "images", "correct", "accuracy"}};
  for (std::size_t i = 0; i < info.classes.size(); ++i) {
    const std::int64_t images = result.class_images[i];
    rows.push_back(
        {info.classes[i], std::to_string(images), std::to_string(result.class_correct[i]),
         images > 0
             ? format_fixed(
                   static_cast<double>(result.class_correct[i]) / static_cast<double>(images), 4)
             : "-"});
  }
  // All digits, for comparisons.
  std::string text = format_table(rows) + "\n\ntest loss " + format_real(result.loss) +
                     "  test accuracy " + format_real(result.accuracy) + "\n";
  if (result.top5_accuracy) {
    text += "test accuracy " + format_real(*result.top5_accuracy) + " in the top 5\n";
  }
  if (result.views_accuracy) {
    text +=
        "test accuracy " + format_real(*result.views_accuracy) + " with test-time augmentation\n";
  }
  return text + format_count(result.correct) + " of " + format_count(result.images) +
         " correct, every image exactly once, " + format_fixed(result.seconds, 1) + " s";
}

}  // namespace

int evaluate_model(Job& job, const EvalRequest& request) {
  at::set_num_threads(request.threads);
  DeviceChoice device = choose_device(job, request.device.request);
  // Repeatable, so that each evaluation of a model gives the same figures. Timing kernels takes
  // longer than a few batches gain by it.
  const torch::Device place =
      open_device(job, request.device.request, device, {request.precision, true});
  const DescribedNetwork trained = read_on_rank_0(job, request.checkpoint);
  const ModelDescription& description = trained.file.description;
  // As in training, where nothing else is asked for.
  const bool channels_last =
      request.channels_last && (request.is_layout_given || !description.is_script());
  const train::ImageStore images(request.data, job.world, job.node, {0, {request.cache_bytes}},
                                 [&] { job.touch(); });
  warn_of_data_set(job, request.data, images);
  const data::DatasetInfo& info = images.info();
  if (description.is_script()) job.warn(code_notice(trained.network));
  model::NetworkPtr network;
  comm::agree(job.world, [&] {
    require_fit(description, info);
    if (request.views) require_fit_for_views(info);
    network = job.is_root() ? build_network(trained.file, trained.network, place)
                            : make_untrained(description, trained.network, place);
  });
  train::ParameterArena arena(*network, channels_last, place);
  train::broadcast_weights(job.world, arena, *network);

  const data::Layout layout = channels_last ? data::Layout::kChannelsLast : data::Layout::kPlanar;
  // Pixels are normalized as in training, also where this data set's own mean differs.
  const data::Transform transform(info.shape, layout, description.mean, description.std);
  train::EvaluationSettings settings{transform, request.precision, info.classes.size(), place};
  settings.views = request.views;
  evaluate_on_gpu(settings, {description.mean, description.std},
                  memory_of_gpu(device, request.device.request, job.topology));
  settings.batch_size = request.batch_size;
  settings.is_interrupted = [&](double) {
    job.touch();
    return false;
  };
  job.supervision().heartbeats().enter(comm::Phase::kEvaluation);
  data::ImagesView test = images.view(data::Split::kTest);
  test.fit = description.fit;
  const train::Evaluation result = train::evaluate(job.world, *network, test, settings);
  comm::agree_on_rank_0(job.world, [&] {
    if (!request.json && !device.note.empty()) print_line(fold(device.note));
    print_line(request.json ? to_json(result, info).dump() : to_text(result, info));
  });
  return 0;
}

}  // namespace tandem::app
