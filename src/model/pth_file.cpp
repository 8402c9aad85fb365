#include "tandem/model/pth_file.hpp"

#include <ATen/core/Dict.h>
#include <caffe2/serialize/inline_container.h>
#include <torch/csrc/jit/serialization/pickler.h>

#include "tandem/core/file.hpp"
#include "tandem/core/mark.hpp"

namespace tandem::model {
namespace {

// A pickle that refers to the tensors' bytes by number, and those bytes.
struct PickledDict {
  std::string pickle;
  std::vector<torch::Tensor> storages;
};

PickledDict pickle_dict(const std::vector<NamedTensor>& tensors) {
  c10::impl::GenericDict dict(c10::StringType::get(), c10::TensorType::get());
  for (const NamedTensor& entry : tensors) {
    // A pickled tensor takes its whole storage along, so each gets one of exactly its own size.
    dict.insert(entry.name, entry.tensor.detach().cpu().clone(torch::MemoryFormat::Contiguous));
  }
  PickledDict result;
  // Without tags for aggregates: with them the dict's type is a TorchScript name that weights_only
  // refuses.
  torch::jit::Pickler pickler(
      [&result](const char* data, std::size_t bytes) { result.pickle.append(data, bytes); },
      nullptr, nullptr, nullptr, nullptr, /*tag_aggregates=*/false);
  pickler.protocol();
  pickler.pushIValue(dict);
  pickler.stop();
  result.storages = pickler.tensorData();
  return result;
}

}  // namespace

void write_pth(const std::string& path, const std::vector<NamedTensor>& tensors) {
  const PickledDict dict = pickle_dict(tensors);
  AtomicFile file(path);
  // libtorch's writer writes again in its destructor, where nothing may be thrown.
  std::exception_ptr failure;
  const std::function<std::size_t(const void*, std::size_t)> write = [&](const void* data,
                                                                         std::size_t bytes) {
    try {
      if (!failure) file.write({static_cast<const char*>(data), bytes});
    } catch (...) {
      failure = std::current_exception();
    }
    return bytes;
  };
  {
    caffe2::serialize::PyTorchStreamWriter archive(write);
    archive.writeRecord("data.pkl", dict.pickle.data(), dict.pickle.size());
    for (std::size_t i = 0; i < dict.storages.size(); ++i) {
      const torch::Tensor& storage = dict.storages[i];
      archive.writeRecord("data/" + std::to_string(i), storage.data_ptr(), storage.nbytes());
    }
    archive.writeRecord(kMarkEntry, kMarkText, sizeof kMarkText - 1);
    archive.writeEndOfFile();
  }
  if (failure) std::rethrow_exception(failure);
  file.commit();
}

}  // namespace tandem::model
