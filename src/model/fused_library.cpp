#include <dlfcn.h>

#include <filesystem>

#include "tandem/model/fused_operators.hpp"
#include "tandem/model/step_graph.hpp"

namespace tandem::model::fused {
namespace {

constexpr const char* kLibrary = "libtandem_gpu.so";
constexpr const char* kOpen = "tandem_gpu_open";                  // src/gpu/open.cpp
constexpr const char* kMakeGraph = "tandem_gpu_make_step_graph";  // src/gpu/step_graph.cpp

// Never closed: libtorch keeps its operators.
struct OpenedLibrary {
  void* handle = nullptr;
  std::string reason = "no GPU was opened";  // why its operators cannot be used
};

OpenedLibrary& opened() {
  static OpenedLibrary library;
  return library;
}

// Beside the engine, or where the engine would be if this is part of a program.
std::string path_of_library() {
  Dl_info info{};
  if (::dladdr(reinterpret_cast<const void*>(&why_unavailable), &info) == 0) return kLibrary;
  const std::filesystem::path folder = std::filesystem::absolute(info.dli_fname).parent_path();
  for (const std::filesystem::path& path :
       {folder / kLibrary, folder.parent_path() / "lib/tandem" / kLibrary}) {
    std::error_code ignored;
    if (std::filesystem::exists(path, ignored)) return path.string();
  }
  return kLibrary;
}

std::string try_to_open(int index) {
  void*& library = opened().handle;
  library = ::dlopen(path_of_library().c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return ::dlerror();
  void* const entry = ::dlsym(library, kOpen);
  if (entry == nullptr) return path_of_library() + " has no function " + kOpen;
  const char* const why = reinterpret_cast<const char* (*)(int)>(entry)(index);
  return why == nullptr ? "" : why;
}

}  // namespace

void open_library(int index) { opened().reason = try_to_open(index); }

const std::string& why_unavailable() { return opened().reason; }

}  // namespace tandem::model::fused

namespace tandem::model {

std::unique_ptr<StepGraph> make_step_graph() {
  void* const library = fused::opened().handle;
  void* const make = library == nullptr ? nullptr : ::dlsym(library, fused::kMakeGraph);
  if (make == nullptr) return nullptr;
  return std::unique_ptr<StepGraph>(reinterpret_cast<StepGraph* (*)()>(make)());
}

}  // namespace tandem::model
