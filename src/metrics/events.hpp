// TensorBoard's events as encoded messages (tensorboard/compat/proto, and the plugin hparams).
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "protobuf.hpp"
#include "tandem/core/span.hpp"
#include "tandem/metrics/tensorboard.hpp"

namespace tandem::metrics {

// The first event of a file.
std::string version_event(double time);
// Has readers drop what earlier files hold of `step` and later ones.
std::string start_event(double time, std::uint64_t step);

// Values that are shown at one step, each under its tag.
class Summary {
 public:
  void scalar(const std::string& tag, double value);
  // Markdown.
  void text(const std::string& tag, const std::string& markdown);
  void image(const std::string& tag, const PngImage& image);
  void histogram(const std::string& tag, Span<const float> values);
  // The run's hyper-parameters, and the tags that are the measure of it.
  void hparams(const HyperParameters& parameters, const std::vector<std::string>& metrics,
               const std::string& run_id, double time);
  // Records that the run is complete.
  void hparams_end(double time);

  bool empty() const { return message_.encoded().empty(); }
  std::string event(double time, std::uint64_t step) const;

 private:
  void hparams_value(const std::string& tag, const ProtoMessage& content);

  ProtoMessage message_;
};

// Buckets of equal width between the minimum and the maximum; values that are not finite are
// ignored.
struct Histogram {
  double least = 0;
  double largest = 0;
  double sum = 0;
  double sum_of_squares = 0;
  std::vector<double> limits;  // the upper one of each bucket
  std::vector<double> counts;
};
Histogram histogram_of(Span<const float> values);

}  // namespace tandem::metrics
