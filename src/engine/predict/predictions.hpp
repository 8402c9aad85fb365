// Predictions of pictures as lines for people and for programs.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace tandem::app {

constexpr std::size_t kShownClasses = 3;

struct Guess {
  std::string name;  // of the class
  double probability;
};
using Guesses = std::vector<Guess>;  // the likeliest first; at most kShownClasses, at least one

// One JSON object in ASCII. Names of files may hold any bytes; what is not UTF-8 becomes U+FFFD.
std::string prediction_json(const std::string& file, const Guesses& guesses);

// Lines that fit below each other although no other line is known when the first is written: wide
// enough for the widest class.
class PredictionTable {
 public:
  explicit PredictionTable(const std::vector<std::string>& classes);

  std::string header() const;
  std::string line(const std::string& file, const Guesses& guesses) const;

 private:
  std::string cell(const std::string& text) const;

  std::size_t places_;
  std::size_t width_;
};

}  // namespace tandem::app
