#include "compiler.hpp"

#include <cuda.h>
#include <dlfcn.h>
#include <nvrtc.h>

#include <algorithm>
#include <memory>
#include <type_traits>

#include "kernel_source.hpp"
#include "tandem/core/error.hpp"

#define TANDEM_NVRTC_FUNCTIONS(each)                                                      \
  each(nvrtcGetErrorString) each(nvrtcVersion) each(nvrtcGetNumSupportedArchs)            \
      each(nvrtcGetSupportedArchs) each(nvrtcCreateProgram) each(nvrtcDestroyProgram)     \
          each(nvrtcCompileProgram) each(nvrtcGetProgramLogSize) each(nvrtcGetProgramLog) \
              each(nvrtcGetCUBINSize) each(nvrtcGetCUBIN) each(nvrtcGetPTXSize) each(nvrtcGetPTX)

namespace tandem::gpu {

struct Compiler::Functions {
#define TANDEM_MEMBER(name) decltype(&::name) name = nullptr;
  TANDEM_NVRTC_FUNCTIONS(TANDEM_MEMBER)
#undef TANDEM_MEMBER

  Functions() {
    const std::string library = compiler_library_name();
    void* const handle = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (handle == nullptr) throw UnavailableError(library + " cannot be opened: " + dlerror());
#define TANDEM_FIND(name)                                           \
  name = reinterpret_cast<decltype(&::name)>(dlsym(handle, #name)); \
  if (name == nullptr) throw UnavailableError(library + " has no " #name);
    TANDEM_NVRTC_FUNCTIONS(TANDEM_FIND)
#undef TANDEM_FIND
  }

  void check(nvrtcResult result, const char* call, const std::string& log = "") const {
    if (result == NVRTC_SUCCESS) return;
    throw UnavailableError(std::string(call) + " failed: " + nvrtcGetErrorString(result) +
                           (log.empty() ? "" : "\n" + log));
  }
};

std::string compiler_library_name() { return "libnvrtc.so." + std::to_string(CUDA_VERSION / 1000); }

Compiler::Compiler()
    : functions_([]() -> const Functions& {
        static const Functions kFunctions;  // the library stays open
        return kFunctions;
      }()) {}

std::string Compiler::version() const {
  int major = 0, minor = 0;
  functions_.check(functions_.nvrtcVersion(&major, &minor), "nvrtcVersion");
  return std::to_string(major) + "." + std::to_string(minor);
}

std::vector<int> Compiler::architectures() const {
  int count = 0;
  functions_.check(functions_.nvrtcGetNumSupportedArchs(&count), "nvrtcGetNumSupportedArchs");
  std::vector<int> all(static_cast<std::size_t>(count));
  functions_.check(functions_.nvrtcGetSupportedArchs(all.data()), "nvrtcGetSupportedArchs");
  std::sort(all.begin(), all.end());
  return all;
}

Compiled Compiler::compile(int architecture) const {
  const std::vector<int> known = architectures();
  const auto above = std::upper_bound(known.begin(), known.end(), architecture);
  if (above == known.begin()) {
    throw UnavailableError("NVRTC " + version() + " compiles for GPUs from sm_" +
                           std::to_string(known.empty() ? 0 : known.front()) + "; this GPU is sm_" +
                           std::to_string(architecture));
  }
  const int target = *(above - 1);
  const bool is_exact = target == architecture;
  std::vector<const char*> names, texts;
  for (const KernelFile& file : kernel_files()) {
    names.push_back(file.name);
    texts.push_back(file.text);
  }
  nvrtcProgram program = nullptr;
  functions_.check(functions_.nvrtcCreateProgram(&program, texts[0], names[0],
                                                 static_cast<int>(names.size()) - 1,
                                                 texts.data() + 1, names.data() + 1),
                   "nvrtcCreateProgram");
  const auto destroy = [this](nvrtcProgram owned) { functions_.nvrtcDestroyProgram(&owned); };
  const std::unique_ptr<std::remove_pointer_t<nvrtcProgram>, decltype(destroy)> owner(program,
                                                                                      destroy);
  const std::string to =
      "--gpu-architecture=" + std::string(is_exact ? "sm_" : "compute_") + std::to_string(target);
  std::vector<const char*> options(std::begin(kCompilerOptions), std::end(kCompilerOptions));
  options.push_back(to.c_str());
  const nvrtcResult result =
      functions_.nvrtcCompileProgram(program, static_cast<int>(options.size()), options.data());
  Compiled compiled;
  std::size_t size = 0;
  functions_.check(functions_.nvrtcGetProgramLogSize(program, &size), "nvrtcGetProgramLogSize");
  compiled.log.resize(size);
  functions_.check(functions_.nvrtcGetProgramLog(program, compiled.log.data()),
                   "nvrtcGetProgramLog");
  compiled.log.resize(compiled.log.find_last_not_of(std::string("\0\n", 2)) + 1);
  functions_.check(result, ("compiling kernels for sm_" + std::to_string(architecture)).c_str(),
                   compiled.log);
  const auto get_size = is_exact ? functions_.nvrtcGetCUBINSize : functions_.nvrtcGetPTXSize;
  const auto get = is_exact ? functions_.nvrtcGetCUBIN : functions_.nvrtcGetPTX;
  const char* const call = is_exact ? "nvrtcGetCUBIN" : "nvrtcGetPTX";
  functions_.check(get_size(program, &size), call);
  compiled.binary.resize(size);
  functions_.check(get(program, compiled.binary.data()), call);
  return compiled;
}

}  // namespace tandem::gpu
