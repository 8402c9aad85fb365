// The device of this rank and the inputs of a training run, checked before a network is built. Main
// thread. Throws AgreedError on every rank.
#pragma once

#include <cstdint>
#include <memory>

#include "engine/model/model_file.hpp"
#include "run_start.hpp"
#include "schedule_choice.hpp"
#include "session/device_choice.hpp"
#include "session/engine.hpp"
#include "tandem/model/libtorch.hpp"
#include "tandem/train/config.hpp"
#include "tandem/train/image_store.hpp"

namespace tandem::app {

struct RunDevice {
  int threads;
  DeviceChoice choice;
  torch::Device device;
};

// Collective. Call it before the data set is read, so that a rank without a GPU ends the job soon.
RunDevice open_run_device(Job& job, const TrainRequest& request);

struct RunInputs {
  // Collective. Refuses ranks on CPUs that cannot fit into the memory of a host, before it reads
  // images. Reads the data set and the network file, and requires what a resumed run must share
  // with its checkpoint. `touch` is called while files are read.
  RunInputs(Job& job, const RunRequest& run, const RunStart& start, const RunDevice& device,
            const Touch& touch);

  NetworkFile network_file;  // without bytes for a network of the registry
  train::ImageStore images;
  std::uint64_t image_count;                     // training images of an epoch
  std::shared_ptr<const data::LaneOrder> lanes;  // their order; null: shuffled as a whole
  train::BatchArithmetic arithmetic;
  ModelDescription description;
  ScheduleChoice schedule;

  // These images, fitted as evaluations of this run need them.
  data::ImagesView evaluated(data::ImagesView some) const {
    some.fit = description.fit;
    return some;
  }
};

}  // namespace tandem::app
