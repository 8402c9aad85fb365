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
// The likeliest first; at most kShownClasses, at least one; of multi-label sets see below.
using Guesses = std::vector<Guess>;

// One JSON object in ASCII. Names of files may hold any bytes; what is not UTF-8 becomes U+FFFD.
std::string prediction_json(const std::string& file, const Guesses& guesses);

// Of a network for multi-label sets. `guesses`: every class, in their order. A picture has the
// classes whose probability is above one half.
std::string multi_label_json(const std::string& file, const Guesses& guesses);
// "ring 0.9871, cross 0.6112  a.png"; the likeliest first, "-" where there is none.
std::string multi_label_line(const std::string& file, const Guesses& guesses);

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
