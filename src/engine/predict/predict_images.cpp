// The engine of tandem predict: what a trained model sees in pictures of any size.
#include <unistd.h>

#include <algorithm>
#include <functional>
#include <utility>

#include "engine/entry.hpp"
#include "engine/model/model_file.hpp"
#include "picture_list.hpp"
#include "predictions.hpp"
#include "session/cuda_build.hpp"
#include "session/device_choice.hpp"
#include "session/fault_code.hpp"
#include "tandem/core/error.hpp"
#include "tandem/core/host.hpp"
#include "tandem/core/print.hpp"
#include "tandem/core/text.hpp"
#include "tandem/data/picture_batches.hpp"
#include "tandem/device/gpu_binding.hpp"
#include "tandem/model/cuda.hpp"
#include "tandem/model/gpu_failure.hpp"
#include "tandem/train/batch_source.hpp"
#include "tandem/train/parameter_arena.hpp"

namespace tandem::app {
namespace {

// The GPU that is asked for, ready to compute, or the CPU, for one process without MPI. Call it
// before other code of libtorch that checks for CUDA. Warns if --device auto takes the CPU in place
// of a GPU that does not work. Throws UnavailableError if a GPU is required and cannot be used.
torch::Device open_own_device(const device::DeviceRequest& request) {
  if (request.device == device::DeviceKind::kCpu) return torch::kCPU;
  device::RankGpus rank;
  rank.host = kernel_host_name();
  look_at_gpus(rank);
  const device::GpuDecision decision = device::bind_gpus(request, cuda_of_build(), {rank});
  for (const std::string& warning : decision.warnings) print_warning(warning);
  const device::GpuBinding& binding = decision.bindings.front();
  if (!binding.gpu) return torch::kCPU;
  try {
    model::CudaSettings settings;
    settings.is_deterministic = true;
    settings.opens_kernels = false;
    const torch::Device device = model::open_cuda(binding.gpu->index, settings);
    model::name_gpu(binding.text());
    return device;
  } catch (const UnavailableError& error) {
    if (!device::may_take_cpu(request)) throw;
    print_warning(std::string("--device auto takes the CPU: ") + error.what());
    return torch::kCPU;
  }
}

// Of a network for multi-label sets: every class of each image, in their order.
std::vector<Guesses> probabilities_of(const torch::Tensor& logits,
                                      const std::vector<std::string>& classes) {
  const torch::Tensor probabilities = torch::sigmoid(logits.to(torch::kFloat32));
  const auto value = probabilities.accessor<float, 2>();
  std::vector<Guesses> all(static_cast<std::size_t>(logits.size(0)));
  for (std::size_t i = 0; i < all.size(); ++i) {
    const auto row = static_cast<std::int64_t>(i);
    for (std::size_t c = 0; c < classes.size(); ++c) {
      all[i].push_back({classes[c], static_cast<double>(value[row][static_cast<std::int64_t>(c)])});
    }
  }
  return all;
}

// For each image of the batch. Where classes are equally likely the first of them wins, as in eval.
std::vector<Guesses> classify(model::Network& network, const data::PictureBatch& batch,
                              data::Layout layout, const ModelDescription& description,
                              torch::Device device) {
  const torch::NoGradGuard no_grad;
  const torch::Tensor images =
      train::tensor_of(batch.images.get(), batch.size(), description.shape, layout);
  const torch::Tensor logits = network.forward(images.to(device)).to(torch::kCPU);
  if (description.multi_label) return probabilities_of(logits, description.classes);
  const auto [sorted, labels] =
      torch::sort(logits, /*stable=*/true, /*dim=*/1, /*descending=*/true);
  const torch::Tensor probabilities = torch::softmax(sorted, 1);
  const auto value = probabilities.accessor<float, 2>();
  const auto label = labels.accessor<std::int64_t, 2>();
  const auto shown = static_cast<std::int64_t>(std::min(kShownClasses, description.classes.size()));
  std::vector<Guesses> all(batch.size());
  for (std::size_t i = 0; i < batch.size(); ++i) {
    const auto row = static_cast<std::int64_t>(i);
    for (std::int64_t place = 0; place < shown; ++place) {
      all[i].push_back({description.classes[static_cast<std::size_t>(label[row][place])],
                        static_cast<double>(value[row][place])});
    }
  }
  return all;
}

using ToLine = std::function<std::string(const std::string& file, const Guesses& guesses)>;

// Each on its own line, in the order of the files. Returns the exit code for the faults of files.
ExitCode print_results(const data::PictureBatch& batch, const std::vector<Guesses>& guesses,
                       const ToLine& to_line) {
  ExitCode code = ExitCode::kDone;
  for (std::size_t i = 0; i < batch.size(); ++i) {
    if (const auto& fault = batch.faults[i]) {
      print_error(escape_for_terminal(fault->message));  // a name may hold a newline
      code = worse_of(code, fault->code);
    } else {
      print_line(to_line(batch.files[i], guesses[i]));
    }
  }
  return code;
}

void note_orientation(std::size_t turned, const ModelDescription& description) {
  if (turned == 0) return;
  const std::string pictures = format_quantity(turned, "picture");
  if (description.exif_orientation) {
    print_note(pictures + " turned upright by the EXIF orientation");
  } else {
    print_warning(pictures +
                  " with an EXIF orientation, which is ignored as it was when the model's data set "
                  "was packed; turn them before: magick mogrify -auto-orient FILE");
  }
}

// If results cannot be written, stops waiting for the next line of the list.
struct StopAtEnd {
  explicit StopAtEnd(LineReader& reader) : lines(reader) {}
  ~StopAtEnd() { lines.stop(); }
  StopAtEnd(const StopAtEnd&) = delete;
  StopAtEnd& operator=(const StopAtEnd&) = delete;

  LineReader& lines;
};

}  // namespace

int predict_images(const PredictRequest& request) {
  at::set_num_threads(request.threads);
  const torch::Device device = open_own_device(request.device);
  const ModelFile file = read_model_file(request.checkpoint);
  note_which_file(request.checkpoint, file);
  const ModelDescription& description = file.description;
  const NetworkFile script = network_file_of(file);
  if (description.is_script()) print_warning(code_notice(script));
  const model::NetworkPtr network = build_network(file, script, device);
  const data::Layout layout =
      description.is_script() ? data::Layout::kPlanar : data::Layout::kChannelsLast;
  const train::ParameterArena arena(*network, layout == data::Layout::kChannelsLast, device);
  network->eval();

  LineReader lines(STDIN_FILENO, "standard input");
  PictureList list(request.images, [&lines] { return lines.next(); });
  const data::Transform transform(description.shape, layout, description.mean, description.std);
  data::PictureBatches batches(
      [&list] { return list.next(); }, description.shape, transform, request.batch_size,
      request.threads,
      {description.exif_orientation ? data::Orientation::kUpright : data::Orientation::kAsStored,
       description.fit});
  const StopAtEnd stop{lines};
  const PredictionTable table(description.classes);
  const ToLine as_row = [&](const std::string& name, const Guesses& guesses) {
    return table.line(name, guesses);
  };
  const ToLine to_line = description.multi_label
                             ? (request.json ? multi_label_json : multi_label_line)
                             : (request.json ? ToLine(prediction_json) : as_row);
  ExitCode code = ExitCode::kDone;
  bool headed = request.json || description.multi_label;
  std::size_t turned = 0;
  while (const auto batch = batches.next()) {
    const std::vector<Guesses> guesses = classify(*network, *batch, layout, description, device);
    const bool has_result = std::any_of(batch->faults.begin(), batch->faults.end(),
                                        [](const auto& fault) { return !fault; });
    if (has_result && !std::exchange(headed, true)) print_line(table.header());
    turned += batch->turned;
    code = worse_of(code, print_results(*batch, guesses, to_line));
  }
  note_orientation(turned, description);
  return static_cast<int>(code);
}

}  // namespace tandem::app
