#include "run_network.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "saved_options.hpp"
#include "tandem/comm/agree.hpp"
#include "tandem/core/error.hpp"
#include "tandem/core/file.hpp"
#include "tandem/core/text.hpp"
#include "tandem/model/freeze.hpp"
#include "tandem/model/registry.hpp"
#include "tandem/model/script_network.hpp"
#include "tandem/train/batch_source.hpp"
#include "tandem/train/snapshot.hpp"

namespace tandem::app {
namespace {

NetworkFile network_to_go_on_with(const RunStart& start, const std::string& model) {
  const std::string sha256 = start.entry("network_sha256");
  if (sha256.empty()) return read_network_file(model);  // which is not the run's
  NetworkFile copy = read_network_file(start.folder->network_path(), sha256);
  if (file_exists(model)) {
    copy.sha256 = read_network_file(model).sha256;
  } else if (const std::string before = text_of(saved_options(start), "model"); before != model) {
    throw MissingInputError("--model " + model + ": is not there; the run was started with " +
                            before + ", of which it has a copy");
  }
  return copy;
}

bool is_built_in(const std::string& model) {
  const std::vector<std::string> names = model::network_names();
  return std::find(names.begin(), names.end(), model) != names.end();
}

// Of mlp; a file of an earlier version has the default.
void require_same_widths(const std::string& path, const model::SafetensorsFile& file,
                         const model::HiddenWidths& asked) {
  const model::HiddenWidths found = hidden_widths_of(file.metadata, "--init-from " + path);
  if (found == asked || !model::are_possible(found)) return;  // then the tensors decide
  const std::string theirs = model::hidden_widths_text(found);
  throw DataError("--init-from " + path + ": holds weights of mlp with hidden layers of " + theirs +
                  ", here they are " + model::hidden_widths_text(asked) + "; give --hidden " +
                  theirs);
}

void require_same_stem(const std::string& path, const model::SafetensorsFile& file,
                       model::Stem asked) {
  const std::optional<model::Stem> found = stem_of(file.metadata, "--init-from " + path);
  if (!found || *found == asked) return;  // without the entry, shapes of tensors are compared later
  const std::string theirs = model::name_of(*found);
  throw DataError("--init-from " + path + ": holds weights of a network with the stem " + theirs +
                  ", here it is " + model::name_of(asked) + "; give --stem " + theirs);
}

// Such as "weights of a.safetensors: 120 of 122 tensors taken; fc.weight, fc.bias start anew, …".
std::string describe_taken(const std::string& path, std::size_t tensors,
                           const std::vector<std::string>& anew) {
  const std::string count = format_quantity(tensors, "tensor") + " taken";
  if (anew.empty()) return "weights of " + path + ": all " + count;
  return "weights of " + path + ": " + format_count(tensors - anew.size()) + " of " + count + "; " +
         join(anew, ", ") + (anew.size() == 1 ? " starts" : " start") +
         " anew, because the file has none for these classes";
}

// PyTorch before 0.4.1, from which published weights come, counted no batches.
// Returns how many it adds.
std::size_t add_missing_counts(const model::Network& network,
                               std::vector<model::NamedTensor>& tensors) {
  const std::size_t before = tensors.size();
  for (const auto& buffer : network.named_buffers()) {
    if (!ends_with(buffer.key(), ".num_batches_tracked")) continue;
    const auto has_its_name = [&](const auto& each) { return each.name == buffer.key(); };
    if (std::none_of(tensors.begin(), tensors.end(), has_its_name)) {
      tensors.push_back({buffer.key(), torch::zeros_like(buffer.value())});
    }
  }
  return tensors.size() - before;
}

void require_finite(const std::string& path, const std::vector<model::NamedTensor>& tensors) {
  for (const model::NamedTensor& each : tensors) {
    if (each.tensor.isfinite().all().item<bool>()) continue;
    throw DataError("--init-from " + path + ": '" + each.name +
                    "' has NaN or infinite values; give weights of an earlier checkpoint");
  }
}

// Returns a sentence on what was loaded.
std::string load_initial_weights(const std::string& path, const train::TrainConfig& config,
                                 model::Network& network, const Touch& touch) {
  const std::string& model = config.model;
  const std::string found = find_model_file(path);
  model::SafetensorsFile file = model::read_safetensors(found, touch);
  const auto named = file.metadata.find("model");
  // lenet and simple have the same names and, for some images, the same shapes.
  if (named != file.metadata.end() && named->second != model && is_built_in(named->second) &&
      is_built_in(model)) {
    throw DataError("--init-from " + found + ": holds weights of " + named->second +
                    ", --model is " + model + "; give --model " + named->second);
  }
  if (model == model::kNetworkWithHiddenLayers) {
    require_same_widths(found, file, model::widths_or_default(config.hidden));
  }
  if (model::has_stem(model)) require_same_stem(found, file, config.stem);
  drop_optimizer(file.tensors);
  require_finite(found, file.tensors);
  const std::size_t added =
      model::is_script_file(model) ? 0 : add_missing_counts(network, file.tensors);
  // A TorchScript file does not tell which layer gives the logits.
  const std::vector<std::string> anew = model::is_script_file(model)
                                            ? std::vector<std::string>()
                                            : model::keep_head(network, file.tensors);
  try {
    model::load_state_dict(network, file.tensors);
  } catch (const DataError& error) {
    throw DataError("--init-from " + found + ": " + error.what());
  }
  return describe_taken(found, file.tensors.size() - added, anew);
}

// Muon takes the last layer that is trained for the head, which has a rule of its own.
void require_trained_head(const model::Network& network) {
  const auto all = network.parameters();
  const auto last =
      std::find_if(all.rbegin(), all.rend(), [](const auto& each) { return each.dim() > 1; });
  if (last == all.rend() || last->requires_grad()) return;
  throw UsageError(
      "--freeze and --optimizer muon: the last layer is frozen, and muon has a rule of its own for "
      "it; leave it trained, or give --optimizer sgd or adamw");
}

// Computes on rank 0 the weights that depend on training images.
void init_network_from_data(Job& job, const train::ImageStore& images, model::Network& network) {
  comm::agree_on_rank_0(job.world, [&] {
    const data::ImagesView view = images.view(data::Split::kTrain);
    const auto wanted = static_cast<std::size_t>(network.images_to_learn_from());
    data::BatchRequest request;
    request.images.resize(std::min(wanted, view.labels.size()));
    if (request.images.empty()) return;
    std::iota(request.images.begin(), request.images.end(), 0);
    const data::DatasetInfo& info = images.info();
    const data::Transform transform(info.shape, data::Layout::kPlanar, info.mean, info.std);
    const data::Batch batch = data::make_batch(view, transform, {}, std::move(request));
    network.init_from_data(
        train::tensor_of(batch.images.get(), batch.size(), info.shape, transform.layout()));
  });
}

}  // namespace

NetworkFile read_network_together(Job& job, const RunStart& start, const std::string& model) {
  NetworkFile file;
  if (!model::is_script_file(model)) return file;
  comm::agree_on_rank_0(job.world, [&] {
    file = start.resumes ? network_to_go_on_with(start, model) : read_network_file(model);
  });
  file.path = model;
  file.bytes = job.world.broadcast_string(std::move(file.bytes));
  file.sha256 = job.world.broadcast_string(std::move(file.sha256));
  return file;
}

InitialNetwork make_network_together(Job& job, const RunStart& start,
                                     const train::TrainConfig& config, const RunInputs& inputs,
                                     torch::Device device) {
  if (inputs.description.is_script()) job.warn(code_notice(inputs.network_file));
  torch::manual_seed(config.seed);
  model::NetworkPtr network;
  comm::agree(job.world, [&] {
    network = make_untrained(inputs.description, inputs.network_file, device);
    model::freeze(*network, config.frozen);
    if (config.optimizer.name == "muon") require_trained_head(*network);
    std::vector<std::string> scaled;
    for (const train::RateScale& each : config.rate_scales) scaled.push_back(each.pattern);
    model::require_fitting(*network, scaled, "--lr-scale");
    // A run of an earlier version may go on.
    if (!start.resumes) model::require_trained(*network, scaled, "--lr-scale");
  });
  if (const std::string warning = model::script_warning(*network); !warning.empty()) {
    job.warn(warning);
  }
  std::string taken;
  if (!start.resumes && !config.init_from.empty()) {
    comm::agree_on_rank_0(job.world, [&] {
      taken = load_initial_weights(config.init_from, config, *network, [&] { job.touch(); });
    });
  }
  model::choose_convolution(*network, config.convolution);
  if (config.gradient_checkpointing) network->recompute_blocks();
  if (!start.resumes && config.init_from.empty()) {
    init_network_from_data(job, inputs.images, *network);
  }
  return {network, taken};
}

void restore_state(Job& job, const RunStart& start, model::Network& network,
                   train::ParameterArena& arena, train::Optimizer& optimizer) {
  if (!start.resumes) return;
  comm::agree_on_rank_0(job.world, [&] {
    try {
      train::restore_snapshot(start.checkpoint->tensors, network, arena, optimizer);
    } catch (const DataError& error) {
      throw DataError(start.checkpoint_path + ": " + error.what());
    }
  });
  train::broadcast_state(job.world, network, arena, optimizer);
  optimizer.set_steps(start.optimizer_steps);
}

}  // namespace tandem::app
