#include "predictions.hpp"

#include <algorithm>
#include <array>

#include "tandem/core/json.hpp"
#include "tandem/core/print.hpp"
#include "tandem/core/text.hpp"

namespace tandem::app {
namespace {

constexpr std::array<const char*, kShownClasses> kHeadings = {"class", "second", "third"};
constexpr char kBetween[] = "  ";

Guesses likely_ones(const Guesses& guesses) {
  Guesses likely;
  for (const Guess& guess : guesses) {
    if (guess.probability > 0.5) likely.push_back(guess);
  }
  std::stable_sort(likely.begin(), likely.end(), [](const Guess& one, const Guess& other) {
    return one.probability > other.probability;
  });
  return likely;
}

}  // namespace

std::string multi_label_json(const std::string& file, const Guesses& guesses) {
  Json labels = Json::array();
  for (const Guess& guess : likely_ones(guesses)) labels.push_back(guess.name);
  Json probabilities = Json::object();
  for (const Guess& guess : guesses) probabilities[guess.name] = guess.probability;
  return dump_as_ascii({{"file", file}, {"labels", labels}, {"probabilities", probabilities}});
}

std::string multi_label_line(const std::string& file, const Guesses& guesses) {
  std::vector<std::string> labels;
  for (const Guess& guess : likely_ones(guesses)) {
    labels.push_back(escape_for_terminal(guess.name) + " " + format_fixed(guess.probability, 4));
  }
  return (labels.empty() ? "-" : join(labels, ", ")) + kBetween + escape_for_terminal(file);
}

std::string prediction_json(const std::string& file, const Guesses& guesses) {
  Json top = Json::array();
  for (const Guess& guess : guesses) {
    top.push_back({{"class", guess.name}, {"probability", guess.probability}});
  }
  const Json object{{"file", file},
                    {"class", guesses.front().name},
                    {"probability", guesses.front().probability},
                    {"top", top}};
  return dump_as_ascii(object);
}

PredictionTable::PredictionTable(const std::vector<std::string>& classes)
    : places_(std::min(kShownClasses, classes.size())), width_(display_width(kHeadings[1])) {
  for (const std::string& name : classes) {
    width_ = std::max(width_, display_width(escape_for_terminal(name)));
  }
}

std::string PredictionTable::header() const {
  std::string line;
  for (std::size_t i = 0; i < places_; ++i) line += cell(kHeadings[i]) + "p     " + kBetween;
  return line + "file";
}

std::string PredictionTable::line(const std::string& file, const Guesses& guesses) const {
  std::string line;
  for (const Guess& guess : guesses) {
    line += cell(escape_for_terminal(guess.name)) + format_fixed(guess.probability, 4) + kBetween;
  }
  return line + escape_for_terminal(file);
}

std::string PredictionTable::cell(const std::string& text) const {
  return text + std::string(width_ - std::min(width_, display_width(text)), ' ') + kBetween;
}

}  // namespace tandem::app
