#include "engine.hpp"

#include "tandem/comm/agree.hpp"

namespace tandem::app {

const Engine& open_engine(Job& job) {
  const Engine* engine = nullptr;
  std::string version;
  comm::agree(job.world, [&] {
    engine = &open_engine();
    version = engine->libtorch_version();
  });
  job.touch();  // from a cold network disk, libtorch takes seconds
  comm::require_equal(job.world, {{"libtorch version", version}});
  return *engine;
}

}  // namespace tandem::app
