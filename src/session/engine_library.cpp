// A file of its own, because static programs link engine_inside.cpp instead.
#include <dlfcn.h>
#include <link.h>

#include <filesystem>

#include "engine.hpp"
#include "tandem/comm/gpu_libraries.hpp"
#include "tandem/core/error.hpp"
#include "tandem/core/spawn.hpp"
#include "tandem/core/version.hpp"

namespace tandem::app {
namespace {

constexpr const char* kEngine = "libtandem_engine.so";
constexpr const char* kGpuKernels = "libtandem_gpu.so";  // beside the engine, which opens it
constexpr const char* kFix =
    "; install bin/tandem and lib/tandem from the same build (make -f Makefile.hpc install)";

// The dynamic loader counts, so a second call finds the library that is open.
void* open_engine_library() {
  const std::filesystem::path program = own_program();
  const std::filesystem::path beside = program.parent_path().parent_path() / "lib/tandem" / kEngine;
  const std::string name = std::filesystem::exists(beside) ? beside.string() : kEngine;
  if (void* library = ::dlopen(name.c_str(), RTLD_NOW | RTLD_GLOBAL)) return library;
  throw UnavailableError(std::string("the engine cannot be loaded: ") + ::dlerror() +
                         "; install tandem as a whole, with its libtorch");
}

std::string path_of(void* library) {
  const link_map* map = nullptr;
  return ::dlinfo(library, RTLD_DI_LINKMAP, &map) == 0 ? map->l_name : "";
}

void* find_symbol(void* library, const char* name) {
  if (void* const found = ::dlsym(library, name)) return found;
  throw UnavailableError(path_of(library) + ": is not the engine of this program: it has no " +
                         name + kFix);
}

// The program and the engine call each other through C++ types of the same source.
void require_same_version(void* library) {
  void* const found = find_symbol(library, "tandem_engine_version");
  const std::string engine = reinterpret_cast<decltype(&tandem_engine_version)>(found)();
  const std::string program = build_version();
  if (engine == program) return;
  throw UnavailableError(path_of(library) + ": the engine is tandem " + engine +
                         ", this program is tandem " + program + kFix);
}

}  // namespace

// It is never closed: libtorch has threads and registrations that outlive any use.
const Engine& open_engine() {
  void* const library = open_engine_library();
  require_same_version(library);
  void* const entry = find_symbol(library, "tandem_engine");
  return *reinterpret_cast<decltype(&tandem_engine)>(entry)();
}

std::vector<std::string> libraries_opened() {
  std::vector<std::string> paths{path_of(open_engine_library())};
  std::vector<std::string> names = comm::gpu_library_names();
  if (!names.empty()) {
    names.emplace_back("libtorch_cuda.so");
    names.emplace_back("libnvrtc.so." + std::to_string(comm::cuda_version_built() / 1000));
    names.push_back(std::filesystem::path(paths.front()).replace_filename(kGpuKernels).string());
  }
  for (const std::string& name : names) {
    void* const library = ::dlopen(name.c_str(), RTLD_LAZY | RTLD_LOCAL);
    if (library != nullptr) paths.push_back(path_of(library));
  }
  return paths;
}

}  // namespace tandem::app
