// The engine's function for each command; see Engine in src/session/engine.hpp.
#pragma once

#include <set>
#include <string>

#include "session/engine.hpp"

namespace tandem::app {

int train_run(Job& job, RunRequest& run);
int evaluate_model(Job& job, const EvalRequest& request);
int predict_images(const PredictRequest& request);
int export_model_file(const std::string& checkpoint, const std::string& output);
Json inspect_model(const std::string& path);
ExitCode verify_model(const std::string& path, bool run_network, std::set<std::string>& reported);
int time_step(Job& job, const StepRequest& request);
int time_all_reduce(Job& job, const AllReduceRequest& request);
int time_loader(Job& job, const LoaderRequest& request);

}  // namespace tandem::app
