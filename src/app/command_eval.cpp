// tandem eval: exact loss and accuracy of a trained model on any number of ranks.
#include <utility>

#include "commands.hpp"
#include "compute.hpp"
#include "device_choice.hpp"
#include "model_file.hpp"
#include "options/stall_options.hpp"
#include "options/train_options.hpp"
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
    trained.network = network_of(trained.file);
    say_which_file(checkpoint, trained.file);
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

Json to_json(const train::Evaluation& result, const data::DatasetInfo& info) {
  Json classes = Json::object();
  for (std::size_t i = 0; i < info.classes.size(); ++i) {
    const auto images = static_cast<double>(result.class_images[i]);
    classes[info.classes[i]] =
        images > 0 ? Json(static_cast<double>(result.class_correct[i]) / images) : Json(nullptr);
  }
  const Json views = result.views_accuracy ? Json(*result.views_accuracy) : Json();
  return {{"test_loss", result.loss},  {"test_accuracy", result.accuracy},
          {"correct", result.correct}, {"images", result.images},
          {"class_accuracy", classes}, {"test_accuracy_tta", views},
          {"seconds", result.seconds}};
}

std::string to_text(const train::Evaluation& result, const data::DatasetInfo& info) {
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
  return format_table(rows) + "\neval " + std::to_string(result.images) + "/" +
         std::to_string(result.images) + " exactly once  test loss " + format_real(result.loss) +
         "  test accuracy " + format_real(result.accuracy) + "  (" +
         std::to_string(result.correct) + " correct, " + format_fixed(result.seconds, 1) + " s)" +
         (result.views_accuracy
              ? "  with test-time augmentation " + format_real(*result.views_accuracy)
              : "");
}

int run_eval(Job& job, const Arguments& arguments) {
  Options options = resolve_together(job, "eval", eval_command().options, arguments);
  std::string precision;
  bool json = false;
  bool views = false;
  bool channels_last = true;
  int threads = 0;
  std::uint64_t batch_size = 0;
  DeviceOptions device_options;
  comm::agree(job.world, job.topology.host, [&] {
    options.require("data");
    options.require("checkpoint");
    precision = options.choice("precision");
    channels_last = options.flag("channels-last");
    device_options = read_device_options(options);
    threads = static_cast<int>(options.count("threads", 0, 1024));
    batch_size = read_eval_batch_size(options);
    json = options.flag("json");
    views = options.flag("tta");
    options.throw_faults("eval");
    use_threads(threads, job.topology.default_threads());
  });

  DeviceChoice device = choose_device(job, device_options.request);
  const torch::Device place =
      open_device(job, device_options.request, device, model::parse_precision(precision));
  const DescribedNetwork trained = read_on_rank_0(job, options.text("checkpoint"));
  const ModelDescription& description = trained.file.description;
  // As in training, where nothing else is asked for.
  if (description.is_script() && options.value("channels-last").origin == Origin::kDefault) {
    channels_last = false;
  }
  const train::ImageStore images(options.text("data"), job.world, job.node, job.topology, 0,
                                 [&] { job.touch(); });
  warn_about(job, options.text("data"), images);
  const data::DatasetInfo& info = images.info();
  if (description.is_script()) job.warn(code_notice(trained.network));
  model::NetworkPtr network;
  comm::agree(job.world, job.topology.host, [&] {
    require_fit(description, info);
    network = job.is_root() ? build_network(trained.file, trained.network, place)
                            : make_untrained(description, trained.network, place);
  });
  train::ParameterArena arena(*network, channels_last, place);
  train::broadcast_weights(job.world, arena, *network);

  const data::Layout layout = channels_last ? data::Layout::kChannelsLast : data::Layout::kPlanar;
  // Pixels are normalized as in training, also where this data set's own mean differs.
  const data::Transform transform(info.shape, layout, description.mean, description.std);
  train::EvaluationSettings settings{transform, model::parse_precision(precision),
                                     info.classes.size(), place};
  settings.views = views;
  settings.batch_size = batch_size;
  settings.is_interrupted = [&](double) {
    job.touch();
    return false;
  };
  job.supervision().heartbeats().enter(comm::Phase::kEvaluation);
  const train::Evaluation result =
      train::evaluate(job.world, *network, images.view(data::Split::kTest), settings);
  comm::agree_on_rank_0(job.world, [&] {
    if (!json && !device.note.empty()) print_line(device.note);
    print_line(json ? to_json(result, info).dump() : to_text(result, info));
  });
  return 0;
}

}  // namespace

Command eval_command() {
  return {"eval",
          "--data FILE.h5 --checkpoint PATH",
          "exact test loss and accuracy, in all and per class",
          "mpirun -np 2 tandem eval --data synthetic.h5 --checkpoint runs/demo",
          with_stall_options(
              {{"data", "FILE.h5", "", "packed data set", "input"},
               {"checkpoint", "PATH", "", "run folder or model.safetensors", "input"},
               precision_option(),
               channels_last_option(),
               device_option(),
               gpu_ids_option(),
               share_gpu_option(),
               threads_option(),
               eval_batch_size_option(),
               {"tta", "", "false", "also test-time augmentation, six times the work", "reporting"},
               {"json", "", "false", "one JSON object on standard output", "reporting"}},
              "safekeeping"),
          nullptr,
          run_eval};
}

}  // namespace tandem::app
