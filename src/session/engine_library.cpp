// A file of its own, because static programs link engine_inside.cpp instead.
#include <dlfcn.h>
#include <link.h>

#include <filesystem>

#include "engine.hpp"
#include "tandem/comm/gpu_libraries.hpp"

namespace tandem::app {
namespace {

constexpr const char* kEngine = "libtandem_engine.so";

// The dynamic loader counts, so a second call finds the library that is open.
void* open_engine_library() {
  const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe");
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

}  // namespace

// It is never closed: libtorch has threads and registrations that outlive any use.
const Engine& open_engine() {
  void* const entry = ::dlsym(open_engine_library(), "tandem_engine");
  if (entry == nullptr) throw UnavailableError(std::string(kEngine) + " is not tandem's engine");
  return *reinterpret_cast<decltype(&tandem_engine)>(entry)();
}

std::vector<std::string> libraries_opened() {
  std::vector<std::string> paths{path_of(open_engine_library())};
  std::vector<std::string> names = comm::gpu_library_names();
  if (!names.empty()) names.emplace_back("libtorch_cuda.so");
  for (const std::string& name : names) {
    void* const library = ::dlopen(name.c_str(), RTLD_LAZY | RTLD_LOCAL);
    if (library != nullptr) paths.push_back(path_of(library));
  }
  return paths;
}

}  // namespace tandem::app
