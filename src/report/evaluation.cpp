#include "evaluation.hpp"

#include <cmath>

#include "tandem/core/digest.hpp"
#include "tandem/core/error.hpp"
#include "tandem/core/json.hpp"

namespace tandem::report {
namespace {

constexpr std::uint64_t kMaxClasses = 65'535;
constexpr std::size_t kMaxTabledClasses = 1000;              // above, no table of answers is kept
constexpr std::uint64_t kMaxCount = std::uint64_t{1} << 53;  // whole numbers of a double
constexpr std::uint64_t kLongestSide = 4096;
constexpr std::size_t kMaxWorstImages = 1000;

[[noreturn]] void refuse(const std::string& what) {
  throw DataError("evaluation.json: " + what +
                  "; `tandem train` writes it anew at the end of a run");
}

const Json& array_of(const Json& object, const char* name) {
  const Json& found = member(object, name);
  if (!found.is_array()) refuse("'" + std::string(name) + "' is not a list");
  return found;
}

std::uint64_t count_of(const Json& number, const std::string& name, std::uint64_t highest) {
  if (!number.is_number_unsigned() || number.get<std::uint64_t>() > highest) {
    refuse("'" + name + "' holds what is not a whole number up to " + std::to_string(highest));
  }
  return number.get<std::uint64_t>();
}

WorstImage read_worst(const Json& image, const Answers& answers) {
  WorstImage worst;
  const std::uint64_t last_class = answers.classes.size() - 1;
  worst.index = count_of(member(image, "index"), "index", kMaxCount);
  worst.label = count_of(member(image, "label"), "label", last_class);
  worst.predicted = count_of(member(image, "predicted"), "predicted", last_class);
  worst.loss = number_of(image, "loss");
  const auto pixels = from_base64(text_of(image, "pixels"));
  const std::size_t expected = answers.channels * answers.height * answers.width;
  if (!pixels || (!pixels->empty() && pixels->size() != expected)) {
    refuse("'pixels' of image " + std::to_string(worst.index) + " are not " +
           std::to_string(expected) + " bytes in base64");
  }
  worst.pixels = *pixels;
  return worst;
}

void read_precision(const Json& evaluation, Answers& answers) {
  for (const Json& count : array_of(evaluation, "class_images")) {
    answers.class_images.push_back(
        static_cast<std::int64_t>(count_of(count, "class_images", kMaxCount)));
  }
  for (const Json& each : array_of(evaluation, "class_average_precision")) {
    if (!each.is_null() && !each.is_number()) {
      refuse("'class_average_precision' holds a value that is not a number");
    }
    answers.class_precision.push_back(each.is_null() ? std::nan("") : each.get<double>());
  }
  const std::size_t classes = answers.classes.size();
  if (answers.class_images.size() != classes || answers.class_precision.size() != classes) {
    refuse("'class_images' and 'class_average_precision' do not have one number for each class");
  }
}

}  // namespace

Answers read_answers(const Json& evaluation) {
  Answers answers;
  answers.step = number_of(evaluation, "step");
  for (const Json& name : array_of(evaluation, "classes")) {
    if (!name.is_string()) refuse("'classes' holds what is not a text");
    answers.classes.push_back(name.get<std::string>());
  }
  const std::size_t classes = answers.classes.size();
  if (classes == 0 || classes > kMaxClasses) refuse("'classes' are not 1 to 65,535");
  if (evaluation.contains("class_average_precision")) {
    read_precision(evaluation, answers);
    return answers;
  }
  for (const Json& row : array_of(evaluation, "confusion")) {
    if (!row.is_array() || row.size() != classes) refuse("'confusion' has a row of another length");
    std::vector<std::int64_t> counts;
    for (const Json& count : row) {
      counts.push_back(static_cast<std::int64_t>(count_of(count, "confusion", kMaxCount)));
    }
    answers.confusion.push_back(std::move(counts));
  }
  const bool is_left_out = answers.confusion.empty() && classes > kMaxTabledClasses;
  if (answers.confusion.size() != classes && !is_left_out)
    refuse("'confusion' has not one row for each class");
  const Json& shape = array_of(evaluation, "shape");
  if (shape.size() != 3) refuse("'shape' is not channels, height and width");
  answers.channels = count_of(shape[0], "shape", kLongestSide);
  answers.height = count_of(shape[1], "shape", kLongestSide);
  answers.width = count_of(shape[2], "shape", kLongestSide);
  for (const Json& image : array_of(evaluation, "worst")) {
    if (answers.worst.size() == kMaxWorstImages) refuse("'worst' has more than 1000 images");
    answers.worst.push_back(read_worst(image, answers));
  }
  return answers;
}

}  // namespace tandem::report
